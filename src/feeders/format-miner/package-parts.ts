/** Resolves the references between the parts of an office document (Open Packaging Conventions). */
import { posix } from "node:path";
import type { Archive } from "./archive.ts";
import { Unconverted } from "./outcome.ts";
import { readXml } from "./xml.ts";

/** Reference to another part. `target`: the part's name in the archive, or an external address. */
export type Relation = { type: string; target: string; isExternal: boolean };

/** Returns a part's references by id; part "" is the whole document. */
export async function relationsOf(archive: Archive, part: string): Promise<Map<string, Relation>> {
  const folder = posix.dirname(part);
  const xml = await archive.read(posix.join(folder, "_rels", `${posix.basename(part)}.rels`));
  const relations = new Map<string, Relation>();
  readXml(xml ?? "", {
    open: (name, { Id: id, Type: type, Target: target, TargetMode: mode }) => {
      if (name !== "Relationship" || id === undefined || target === undefined) return;
      const isExternal = mode === "External";
      const inside = target.startsWith("/") ? target.slice(1) : posix.join(folder, target);
      relations.set(id, {
        type: (type ?? "").split("/").at(-1) ?? "",
        target: isExternal ? target : inside,
        isExternal,
      });
    },
  });
  return relations;
}

/** Returns the name of the part with the document's text. Errors: extraction_error. */
export async function mainPart(archive: Archive): Promise<string> {
  for (const { type, target } of (await relationsOf(archive, "")).values())
    if (type === "officeDocument") return target;
  throw new Unconverted("extraction_error", "is not an office document, despite its name");
}
