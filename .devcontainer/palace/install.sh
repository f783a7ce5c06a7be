#!/bin/sh
# The build of a devcontainer runs this as root: installs our package, and makes the places that its volume begins with.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=/var/lib/palace

fail() {
  echo "palace: $1" >&2
  echo "  $2" >&2
  exit 1
}

# What to do about an npm that has failed, from what its registry answers.
npm_hint() {
  case $(npm ping --fetch-retries=0 --fetch-timeout=5000 --no-update-notifier 2>&1) in
    *certificate* | *CERT_* | *_CERT*)
      echo "a proxy that inspects TLS stands in between: put its certificates beside install.sh as ca.crt, then build again"
      ;;
    *PONG*) echo "npm reaches its registry: what it says above is the reason" ;;
    *)
      echo "npm does not reach its registry: check the network (behind a proxy: name it in Docker's ~/.docker/config.json), then build again"
      ;;
  esac
}

major=$(node --version 2>/dev/null | sed 's/^v//; s/[.].*//') || true
[ "${major:-0}" -ge 24 ] && command -v npm >/dev/null ||
  fail "Node 24 or newer with npm is needed, and this image has ${major:-none}" \
    'add "ghcr.io/devcontainers/features/node:1": { "version": "24" } to the features, and it to "overrideFeatureInstallOrder"'

package=${PACKAGE:-}
for archive in "$here"/palace-devbox-*.tgz; do
  if [ -z "$package" ] && [ -f "$archive" ]; then package=$archive; fi
done
[ -n "$package" ] ||
  fail "there is no palace-devbox-*.tgz beside install.sh" "in the clone: npm pack --pack-destination THIS/FOLDER"

# Of a proxy that inspects TLS.
if [ -f "$here/ca.crt" ]; then export NODE_EXTRA_CA_CERTS="$here/ca.crt"; fi
# Nothing of a download after the installation is needed; where it is refused npm would leave the runtime out without a word.
# By itself npm waits five minutes for an answer, three times over; so a connection that stalls ends this after two.
ONNXRUNTIME_NODE_INSTALL=skip npm install --global --ignore-scripts --no-audit --no-fund --no-update-notifier \
  --loglevel=error --fetch-timeout=30000 --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 \
  "$package" || fail "npm could not install $package" "$(npm_hint)"

# Open to any uid: the remote user's may be changed to that of the workspace's owner after this.
install -d -m 1777 "$root" "$root/memory" "$root/state"
# What waits for a broker must outlive the container too.
home=${_REMOTE_USER_HOME:-/root} user=${_REMOTE_USER:-root}
if [ ! -e "$home/.local/state/palace" ]; then
  for folder in .local .local/state; do
    [ -d "$home/$folder" ] || install -d -o "$user" "$home/$folder"
  done
  ln -s "$root/state" "$home/.local/state/palace"
  chown -h "$user" "$home/.local/state/palace"
fi

cat >/usr/local/bin/palace-wire <<WIRE
#!/bin/sh
# Once, when the container has been made and its agents are in it. A container without agents is none the worse for it.
[ "${AGENTS:-all}" = none ] || palace install "${AGENTS:-all}" || echo "later: palace install ${AGENTS:-all}" >&2
WIRE
chmod 755 /usr/local/bin/palace-wire
