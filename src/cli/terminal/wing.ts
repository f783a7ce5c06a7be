/** Reports a wing that a person named and that does not exist. */
import type { Client } from "../../wire/client/client.ts";
import { nearestWord } from "../../base/nearest.ts";
import { type Output, printable } from "./output.ts";

/**
 * Prints that the wing does not exist, with the nearest name; prints nothing for an existing wing. Call it after a
 * search in the wing found nothing.
 */
export async function tellAbsentWing(client: Client, wing: string, out: Output): Promise<void> {
  const { wings = {} } = (await client.callTool("mempalace_list_wings", {})) as { wings?: object };
  const names = Object.keys(wings);
  if (names.includes(wing)) return;
  const near = nearestWord(wing, names);
  out.notice(printable(`there is no wing ${wing}${near === undefined ? "" : `; did you mean ${near}?`}`));
}
