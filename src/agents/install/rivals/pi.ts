/** Lists settings and programs that pi uses instead of our wiring or beside it. */
import { join } from "node:path";
import { quoted } from "../../../base/shell-word.ts";
import {
  filesNamed,
  type Look,
  OUR_NAME,
  type RivalRow,
  rivalServers,
  ROAMPAL,
  SERVER,
  type Sheet,
  sheetsOf,
} from "./rival.ts";

const OTHERS = /mempal|roampal/i;

const settings = (look: Look): Sheet[] =>
  sheetsOf(look, [join(look.places.piDir, "settings.json"), join(look.cwd, ".pi/settings.json")]);

export const PI_ROWS: readonly RivalRow[] = [
  {
    name: "extension",
    find: (look) =>
      filesNamed(look, [join(look.places.piDir, "extensions"), join(look.cwd, ".pi/extensions")], OTHERS).map(
        (path) => ({
          what: "another memory's extension",
          where: path,
          wins: "pi loads both: the model sees the tools of both, and gets everything twice",
          takeOut: `rm -r ${quoted(path)}`,
        }),
      ),
  },
  {
    name: "package",
    find: (look) =>
      settings(look).flatMap((sheet) =>
        sheet
          .words("packages")
          .filter((source) => OTHERS.test(source))
          .map((source) => ({
            what: `the package ${source}`,
            where: sheet.where(sheet.at("packages")),
            wins: "pi loads its extensions beside ours",
            takeOut: `pi remove ${quoted(source)}`,
          })),
      ),
  },
  {
    name: "MCP off",
    find: (look) =>
      settings(look)
        .filter((sheet) => sheet.words("extensions").includes("-builtin:mcp"))
        .map((sheet) => {
          const where = sheet.where(sheet.at("extensions"));
          const wins = "pi does not read mcp.json: the model sees none of our tools";
          return { what: "-builtin:mcp", where, wins, takeOut: `take "-builtin:mcp" out of ${where}` };
        }),
  },
  {
    name: "project server",
    find: (look) =>
      sheetsOf(look, [join(look.cwd, ".pi/mcp.json")]).flatMap((sheet) =>
        rivalServers(look, sheet, [OUR_NAME], "mcpServers").map(({ node }) => ({
          what: `a server called ${SERVER} of a project`,
          where: sheet.where(node),
          wins: `pi takes it instead of ours in ${look.cwd} once the folder is trusted`,
          takeOut: `cd ${quoted(look.cwd)} && pi mcp remove -l ${SERVER}`,
        })),
      ),
  },
  {
    name: "Roampal's server",
    find: (look) =>
      sheetsOf(look, [join(look.places.piDir, "mcp.json"), join(look.cwd, ".pi/mcp.json")]).flatMap((sheet) =>
        rivalServers(look, sheet, [ROAMPAL], "mcpServers").map(({ name, node }) => ({
          what: `Roampal's server ${name}`,
          where: sheet.where(node),
          wins: "the model sees the tools of both memories",
          takeOut: `pi mcp remove ${quoted(name)}`,
        })),
      ),
  },
];
