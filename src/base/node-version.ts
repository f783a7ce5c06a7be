/**
 * Imported first by every executable, for its effect: an older Node gets one sentence instead of a missing function's stack.
 * Uses nothing that Node 18 does not have.
 */
const NEEDED = 24;

if (Number(process.versions.node.split(".", 1)[0]) < NEEDED) {
  process.stderr.write(
    `palace-devbox needs Node ${NEEDED} or newer, this is ${process.versions.node}\n  npm i -g node@${NEEDED}, or use ./scripts/palace of a clone, which brings its own\n`,
  );
  process.exit(2);
}
