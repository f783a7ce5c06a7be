# Sourced by palace (POSIX sh): becomes the built shim at once if nothing has changed since note_shim of node.sh recorded how to start it.
# Looking for Node and for newer sources would take as long as Node's own start. It notices an edit of the shim's own sources by their
# dates, and changes of other sources only by their folders' dates: a pull, a checkout, an added or removed file.

root=${0%/*}/..
noted=$root/node_modules/.palace-shim
node= watched=

is_as_noted() {
  [ -r "$noted" ] || return 1
  . "$noted"
  # The record has the same date as the Node that it names, so a replaced Node is noticed.
  [ -x "$node" ] && ! [ "$node" -nt "$noted" ] && ! [ "$node" -ot "$noted" ] || return 1
  [ -f "$root/dist/bin/mp-shim.cjs" ] && [ -n "$watched" ] || return 1
  for one in $watched; do
    if [ "$root/$one" -nt "$root/dist/bin" ]; then return 1; fi
  done
}

if is_as_noted; then
  # An agent also waits for its hooks, so they start from the built file, too.
  if [ "$1" = hook ]; then exec "$node" "$root/dist/bin/palace.js" "$@"; fi
  exec "$node" "$root/dist/bin/mp-shim.cjs"
fi
