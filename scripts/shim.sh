# Sourced by palace (POSIX sh): becomes the built shim at once if nothing has changed since note_shim of node.sh noted how it
# starts. Looking for Node and for newer sources takes as long as Node itself, so this starts no process but the shim. Sources
# that are edited in place are seen for the shim alone, all others by their folders (a pull, a checkout, a file more or less).

root=${0%/*}/..
noted=$root/node_modules/.palace-shim
node= watched=

is_as_noted() {
  [ -r "$noted" ] || return 1
  . "$noted"
  # The note has the date of the Node it names: another one in its place has another date.
  [ -x "$node" ] && ! [ "$node" -nt "$noted" ] && ! [ "$node" -ot "$noted" ] || return 1
  [ -f "$root/dist/bin/mp-shim.cjs" ] && [ -n "$watched" ] || return 1
  for one in $watched; do
    if [ "$root/$one" -nt "$root/dist/bin" ]; then return 1; fi
  done
}

if is_as_noted; then
  # A hook is on its agent's way as well.
  if [ "$1" = hook ]; then exec "$node" "$root/dist/bin/palace.js" "$@"; fi
  exec "$node" "$root/dist/bin/mp-shim.cjs"
fi
