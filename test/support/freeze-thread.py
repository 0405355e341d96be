"""Freezes the busiest thread of a process until that ends; says "frozen" once it is.

What is left is a program that is alive and answers, but computes nothing any more. Needs the right to trace it.
"""

import ctypes
import os
import sys
import time

PTRACE_SEIZE, PTRACE_INTERRUPT, ALL_KINDS = 0x4206, 0x4207, 0x40000000


def ticks(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def busiest(pid):
    before = {thread: ticks(pid, thread) for thread in os.listdir(f"/proc/{pid}/task")}
    time.sleep(0.5)
    return int(max(before, key=lambda thread: ticks(pid, thread) - before[thread]))


def trace(request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, thread, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def main():
    thread = busiest(int(sys.argv[1]))
    trace(PTRACE_SEIZE, thread)
    trace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, ALL_KINDS)
    print("frozen", flush=True)
    # it stays frozen as long as this program lives; a killed one is gone only when it was waited for
    os.waitpid(thread, ALL_KINDS)


main()
