# Parent of one kept process: takes the slot, makes its run record the valid one, starts the program, notes its pid and its exit code.
# Arguments: folder, token of this launch, program and arguments. Exit 75: the slot is taken; 127: there is no flock; 73: the folder cannot be written.
# In braces, so that the whole is read before anything runs: the file may be replaced by an upgrade.
{
  dir=$1 token=$2
  shift 2

  # Held by the whole tree, as is the fifo: nothing can start here while any of it lives.
  exec 8>>"$dir/slot" || exit 73
  command -p flock -n 8
  case $? in
    0) ;;
    127) exit 127 ;;
    *) exit 75 ;;
  esac

  command -p rm -f "$dir/pid" "$dir/rc" || exit 73
  [ -p "$dir/alive" ] || command -p mkfifo -m 600 "$dir/alive" || exit 73
  command -p mv "$dir/record.$token" "$dir/record.json" || exit 73
  exec 9<>"$dir/alive" || exit 73

  # A signal to the group is the program's to answer; a trap, unlike an ignored signal, is not inherited.
  trap : HUP INT QUIT TERM USR1 USR2

  /bin/sh -c '
    note=$1/pid text="$2 $$"
    shift 2
    echo "$text" >"$note.new" && command -p mv "$note.new" "$note" || exit 73
    exec "$@"
  ' sh "$dir" "$token" "$@"
  code=$?

  echo "$token $code" >"$dir/rc.new" && command -p mv "$dir/rc.new" "$dir/rc"
  # Tells the reader to look, since what the program left behind may hold the fifo open.
  echo >&9
  exit 0
}
