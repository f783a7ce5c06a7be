/** Ends the process with one sentence if Node is too old. Every executable imports this file first. It also runs on Node 18. */
const NEEDED = 24;

if (Number(process.versions.node.split(".", 1)[0]) < NEEDED) {
  process.stderr.write(
    `palace-devbox needs Node ${NEEDED} or newer, this is ${process.versions.node}\n  npm i -g node@${NEEDED}, or use ./scripts/palace of a clone, which brings its own\n`,
  );
  process.exit(2);
}
