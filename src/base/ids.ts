/** Prefix of this process's keys. It is unique but not secret, so it needs no node:crypto, which loads slowly. */
const instance = `${process.pid.toString(36)}-${Date.now().toString(36)}-${randomPart()}${randomPart()}`;
let count = 0;

/** Returns a new idempotency key. */
export function newKey(): string {
  count += 1;
  return `${instance}-${count.toString(36)}`;
}

function randomPart(): string {
  return Math.floor(Math.random() * 2 ** 52).toString(36);
}
