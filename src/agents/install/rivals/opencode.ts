/** Lists settings and programs that opencode uses instead of our wiring or beside it. */
import { join } from "node:path";
import { quoted } from "../../../base/shell-word.ts";
import {
  filesNamed,
  type Look,
  OUR_NAME,
  projectFolders,
  type RivalRow,
  rivalServers,
  ROAMPAL,
  SERVER,
  type Sheet,
  sheetsOf,
} from "./rival.ts";

const NAMES = ["opencode.json", "opencode.jsonc"];

const configs = (look: Look): Sheet[] =>
  sheetsOf(
    look,
    NAMES.map((name) => join(look.places.opencodeDir, name)),
  );

function projectConfigs(look: Look): Sheet[] {
  const folders = projectFolders(look).flatMap((folder) => [folder, join(folder, ".opencode")]);
  return sheetsOf(
    look,
    folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
  );
}

const pluginFolders = (look: Look): string[] =>
  [look.places.opencodeDir, ...projectFolders(look).map((folder) => join(folder, ".opencode"))].flatMap((folder) => [
    join(folder, "plugin"),
    join(folder, "plugins"),
  ]);

export const OPENCODE_ROWS: readonly RivalRow[] = [
  {
    // opencode 1 ignores the setting `mcp.servers`.
    name: "native server",
    find: (look) =>
      (look.version?.startsWith("1.") === true ? [] : [...configs(look), ...projectConfigs(look)]).flatMap((sheet) =>
        rivalServers(look, sheet, [OUR_NAME, ROAMPAL], "mcp", "servers").map(({ name, node }) => ({
          what: `mcp.servers.${name}`,
          where: sheet.where(node),
          wins: `opencode 2 runs it ${name === SERVER ? "instead of" : "beside"} ours`,
          takeOut: `take mcp.servers.${name} out of ${sheet.where(node)}`,
        })),
      ),
  },
  {
    name: "project server",
    find: (look) =>
      projectConfigs(look).flatMap((sheet) =>
        rivalServers(look, sheet, [OUR_NAME], "mcp").map(({ node }) => ({
          what: `mcp.${SERVER} of a project`,
          where: sheet.where(node),
          wins: `opencode takes it instead of ours in ${join(sheet.path, "..")}`,
          takeOut: `take mcp.${SERVER} out of ${sheet.where(node)}`,
        })),
      ),
  },
  {
    name: "second plugin folder",
    find: (look) =>
      filesNamed(look, pluginFolders(look), /^palace\.[jt]s$/)
        .filter((path) => path !== join(look.places.opencodeDir, "plugins/palace.js"))
        .map((path) => ({
          what: "a second copy of our plugin",
          where: path,
          wins: "opencode loads both: a session gets everything twice",
          takeOut: `rm ${quoted(path)}`,
        })),
  },
  {
    name: "Roampal's plugin",
    find: (look) =>
      filesNamed(look, pluginFolders(look), ROAMPAL).map((path) => ({
        what: "Roampal's plugin",
        where: path,
        wins: "each prompt gets the texts of both memories",
        takeOut: `rm ${quoted(path)}`,
      })),
  },
  {
    name: "Roampal's server",
    find: (look) =>
      [...configs(look), ...projectConfigs(look)].flatMap((sheet) =>
        rivalServers(look, sheet, [ROAMPAL], "mcp").map(({ name, node }) => ({
          what: `Roampal's server ${name}`,
          where: sheet.where(node),
          wins: "the model sees the tools of both memories",
          takeOut: `take mcp.${name} out of ${sheet.where(node)}`,
        })),
      ),
  },
];
