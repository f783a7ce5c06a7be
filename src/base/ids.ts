/**
 * Idempotency keys: unique among all processes and machines that ever write to a palace, and no secret. Without
 * node:crypto, whose loading is a tenth of the shim's start.
 */
const instance = `${process.pid.toString(36)}-${Date.now().toString(36)}-${randomPart()}${randomPart()}`;
let count = 0;

/** A key that no other call has. */
export function newKey(): string {
  count += 1;
  return `${instance}-${count.toString(36)}`;
}

/** 52 random bits of V8's generator, which it seeds from the system for each process. */
function randomPart(): string {
  return Math.floor(Math.random() * 2 ** 52).toString(36);
}
