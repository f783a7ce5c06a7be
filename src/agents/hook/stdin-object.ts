/** Reads the JSON document that an agent sends to a hook, only up to its end, because some hosts never close the hook's stdin. */
import type { Readable } from "node:stream";

/** Returns the first whole JSON object, or the whole text if it begins with something else. Does not read a terminal. */
export async function readJsonObject(stdin: Readable & { isTTY?: boolean }): Promise<string> {
  if (stdin.isTTY === true) return "";
  stdin.setEncoding("utf8");
  const object = new WholeObject();
  let text = "";
  // Leaving the loop destroys the stream, so that the open pipe does not keep the process alive.
  for await (const chunk of stdin as AsyncIterable<string>) {
    const end = object.take(chunk);
    if (end !== undefined) return text + chunk.slice(0, end);
    text += chunk;
  }
  return text;
}

/** Finds the end of a JSON object that arrives in chunks. Reads each character once. */
class WholeObject {
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  #isOther = false;

  /** Returns the offset after the object's end in this chunk; undefined if the object does not end in this chunk. */
  take(chunk: string): number | undefined {
    for (let at = 0; at < chunk.length && !this.#isOther; at += 1) {
      const character = chunk.charAt(at);
      if (this.#isString) this.#inString(character);
      else if (character === '"') this.#isString = true;
      else if (character === "{" || character === "[") this.#depth += 1;
      else if ((character === "}" || character === "]") && (this.#depth -= 1) === 0) return at + 1;
      if (this.#depth === 0 && !/\s|\uFEFF/.test(character)) this.#isOther = true;
    }
    return undefined;
  }

  #inString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === "\\") this.#isEscaped = true;
    else if (character === '"') this.#isString = false;
  }
}
