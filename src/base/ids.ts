/**
 * Makes idempotency keys, which are unique but not secret. Does not use node:crypto, because loading it takes a tenth of the shim's
 * start.
 */
const instance = `${process.pid.toString(36)}-${Date.now().toString(36)}-${randomPart()}${randomPart()}`;
let count = 0;

/** Returns a key that no other call on any machine has. */
export function newKey(): string {
  count += 1;
  return `${instance}-${count.toString(36)}`;
}

/** Returns 52 random bits. V8 seeds its generator for each process. */
function randomPart(): string {
  return Math.floor(Math.random() * 2 ** 52).toString(36);
}
