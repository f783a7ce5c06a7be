/** Translates Chroma's errors into PalaceErrors by the name of their class, because importing the classes would load the npm client. */
import { PalaceError, unavailable } from "../../base/errors.ts";
import { widthError } from "./limits.ts";

const TEXT_MAX = 200;
/** Matches, for example, "Collection expecting embedding with dimension of 768, got 384". */
const WIDTHS = /dimension of (\d+), got (\d+)/;
/** Matches errors of a server whose index files contradict each other (engine.md 2). Its rows may still be whole. */
const DAMAGE = /hnsw|pickle|corrupt|malformed|not a database|error finding id/i;

/** Translates an error and never throws. An unknown error counts as unavailable, so that the outbox tries again. */
export function chromaError(error: unknown, place: string): PalaceError {
  if (error instanceof PalaceError) return error;
  const { name, text } = describe(error);
  const options = { cause: error };
  const unavailable = (message: string, hint: string): PalaceError =>
    new PalaceError("STORE_UNAVAILABLE", message, hint, options);
  if (isUnreached(error))
    return unavailable(
      `no Chroma server answers at ${URL.parse(place)?.origin ?? place}${reasonOf(error)}`,
      "start Chroma there, or correct chroma-url (palace config)",
    );
  switch (name) {
    case "ChromaClientError":
    case "ChromaValueError": {
      const [, theirs, ours] = WIDTHS.exec(text) ?? [];
      if (theirs !== undefined) return widthError(Number(theirs), Number(ours));
      return new PalaceError("CONFIG_BAD_VALUE", `Chroma at ${place} refuses the request: ${text}`, "", options);
    }
    case "ChromaQuotaExceededError":
      // An account's limit stops every record, so the outbox waits until the limit is lifted.
      if (!text.startsWith("Quota exceeded")) break;
      return new PalaceError("CONFIG_BAD_VALUE", `Chroma at ${place} does not take this: ${text}`, "", options);
    case "ChromaUnauthorizedError":
    case "ChromaForbiddenError":
      return unavailable(`Chroma at ${place} refuses access`, "export MEMPALACE_CHROMA_TOKEN=<a valid token>");
    case "ChromaNotFoundError":
      return unavailable(`the collection at ${place} is gone`, "palace status");
    case "ChromaServerError":
      if (text.startsWith("413"))
        return new PalaceError("CONFIG_BAD_VALUE", `Chroma at ${place} refuses a request of this size`, "", options);
      if (!DAMAGE.test(text)) break;
      return new PalaceError("STORE_CORRUPT", `Chroma at ${place} is damaged: ${text}`, "palace doctor", options);
  }
  return unavailable(`Chroma at ${place} fails: ${text}`, "palace status");
}

export function timeoutError(place: string, timeoutMs: number): PalaceError {
  const message = `Chroma at ${place} did not answer within ${timeoutMs / 1000} s`;
  return unavailable(message, "palace status");
}

/** Returns true if no connection was made. The npm client throws its own class then, and fetch a TypeError. */
function isUnreached(error: unknown): error is Error {
  return error instanceof Error && (error.name === "ChromaConnectionError" || error.message === "fetch failed");
}

function reasonOf({ cause }: Error): string {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  const reason = [code, message].find((one) => typeof one === "string" && one !== "");
  return reason === undefined ? "" : ` (${String(reason).slice(0, TEXT_MAX)})`;
}

/** Returns an error's name and the server's sentence, without the address that the client puts before it. */
function describe(error: unknown): { name: string; text: string } {
  if (!(error instanceof Error)) return { name: "", text: String(error).slice(0, TEXT_MAX) };
  const text = error.message.replace(/^Bad request to \S+ with status: /, "");
  return { name: error.name, text: text.slice(0, TEXT_MAX) };
}
