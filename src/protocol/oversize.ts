/** Errors for messages that exceed `FRAME_SIZE_MAX_BYTES` (limits.ts). */
import { PalaceError } from "../base/errors.ts";
import { FRAME_SIZE_MAX_BYTES, REQUEST_SIZE_MAX_BYTES } from "./limits.ts";

/** Returns the error for an answer that is too large for a message. The broker has executed the call. */
export function tooLarge(what: string): PalaceError {
  return new PalaceError(
    "TRANSPORT_FRAME_TOO_LARGE",
    `${what} is larger than ${FRAME_SIZE_MAX_BYTES} bytes, the most that one message may have`,
    "ask for less at once: fewer ids, or a smaller limit; if the call was a write, it is done",
  );
}

/** Returns the error for a request that was too large, so that the client did not send it. */
export function requestTooLarge(): PalaceError {
  return new PalaceError(
    "TRANSPORT_FRAME_TOO_LARGE",
    `the request is larger than ${REQUEST_SIZE_MAX_BYTES} bytes, the most that one request may have; it was not sent`,
    "send less at once",
  );
}
