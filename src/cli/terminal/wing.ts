/** Reports a wing that a person names and that the palace does not have. */
import type { Client } from "../../wire/client/client.ts";
import { nearestWord } from "../../base/nearest.ts";
import { type Output, printable } from "./output.ts";

/**
 * Called when a search in the wing found nothing: prints that the wing does not exist, with the nearest name. Prints
 * nothing for an existing wing.
 */
export async function tellAbsentWing(client: Client, wing: string, out: Output): Promise<void> {
  const { wings = {} } = (await client.callTool("mempalace_list_wings", {})) as { wings?: object };
  const names = Object.keys(wings);
  if (names.includes(wing)) return;
  const near = nearestWord(wing, names);
  out.notice(printable(`there is no wing ${wing}${near === undefined ? "" : `; did you mean ${near}?`}`));
}
