"""Runs the HTTP server of the package xllamacpp with the flags of llama-server that llmgw passes.

The API key comes from LLAMA_API_KEY. The first SIGTERM or SIGINT ends the server in order, the
second at once; while the model loads, one is enough.
"""

import argparse
import os
import signal
import sys
import threading


def arguments():
    parser = argparse.ArgumentParser(prog="llamacpp-launcher", allow_abbrev=False)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-a", "--alias", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("-t", "--threads", required=True, type=int)
    parser.add_argument("-c", "--ctx-size", required=True, type=int)
    parser.add_argument("-np", "--parallel", required=True, type=int)
    parser.add_argument("-b", "--batch-size", required=True, type=int)
    parser.add_argument("-cram", "--cache-ram", required=True, type=int)
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--no-ui", action="store_true")
    parser.add_argument("--offline", action="store_true")
    return parser.parse_args()


def parameters(xllamacpp, args, key):
    params = xllamacpp.CommonParams()
    params.model.path = args.model
    params.model_alias = {args.alias}
    params.hostnames = [args.host]
    params.port = args.port
    params.cpuparams.n_threads = args.threads
    params.cpuparams_batch.n_threads = args.threads
    params.n_ctx = args.ctx_size
    params.n_parallel = args.parallel
    params.n_batch = args.batch_size
    params.cache_ram_mib = args.cache_ram
    params.endpoint_metrics = args.metrics
    params.ui = not args.no_ui
    params.offline = args.offline
    # llmgw has planned the memory; fitting would load the model twice
    params.fit_params = False
    params.api_keys = [key]
    return params


def main():
    args = arguments()
    key = os.environ.get("LLAMA_API_KEY")
    if not key:
        sys.exit("llamacpp-launcher: LLAMA_API_KEY is not set")
    try:
        with open(args.model, "rb"):
            pass
    except OSError as error:
        sys.exit(f"llamacpp-launcher: failed to open GGUF file {args.model}: {error.strerror}")

    # No Python handler runs inside the native constructor, so the kernel's default ends a load at once.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_DFL)
    import xllamacpp

    try:
        server = xllamacpp.Server(parameters(xllamacpp, args, key))
    except RuntimeError as error:
        sys.exit(f"llamacpp-launcher: {error} The lines of llama.cpp above say why.")

    stop = threading.Event()

    def stopping(number, frame):
        # Nor in the native destructor, which waits for open requests: the second signal needs the default too.
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)
        stop.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stopping)
    print(f"llamacpp-launcher: listening on {server.listening_address}", file=sys.stderr, flush=True)
    stop.wait()
    del server


main()
