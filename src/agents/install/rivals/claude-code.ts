/** Lists settings and servers that Claude Code uses instead of our wiring, and settings that disable the wiring. */
import { join } from "node:path";
import { getNodeValue } from "jsonc-parser";
import { quoted } from "../../../base/shell-word.ts";
import { valueOf } from "../draft.ts";
import {
  isOurServer,
  type Look,
  OUR_NAME,
  projectFolders,
  type Rival,
  type RivalRow,
  rivalServers,
  ROAMPAL,
  SERVER,
  type Sheet,
  sheetsOf,
  upwards,
} from "./rival.ts";

const RULE = `mcp__${SERVER}`;
const PYTHON_HOOK = /\bmempalace(?:\.exe)?['"]?(?: -\S+)* hook\b|\bmempal_\w+_hook\.sh|-m mempalace hook\b/;
const ROAMPAL_HOOK = /\broampal\b/i;

const userSettings = ({ places }: Look): string => join(places.claudeDir, "settings.json");

function settings(look: Look): Sheet[] {
  const folders = projectFolders(look)
    .map((folder) => join(folder, ".claude"))
    .filter((folder) => folder !== look.places.claudeDir);
  const names = ["settings.json", "settings.local.json"];
  return sheetsOf(look, [userSettings(look), ...folders.flatMap((folder) => names.map((name) => join(folder, name)))]);
}

function managed(look: Look): Sheet[] {
  const folder = look.places.claudeManagedDir;
  const parts = join(folder, "managed-settings.d");
  const names = look.names(parts).filter((name) => name.endsWith(".json"));
  return sheetsOf(look, [join(folder, "managed-settings.json"), ...names.sort().map((name) => join(parts, name))]);
}

const claudeFile = (look: Look): Sheet[] => sheetsOf(look, [look.places.claudeFile]);

/** Lists the projects of Claude Code's own file whose folders still exist. */
function projects(look: Look): { file: Sheet; folder: string }[] {
  return claudeFile(look).flatMap((file) =>
    file
      .members("projects")
      .filter(({ name }) => look.isFolder(name))
      .map(({ name }) => ({ file, folder: name })),
  );
}

const inFolder = (folder: string, command: string): string => `cd ${quoted(folder)} && ${command}`;
const takeOutLine = (what: string, where: string): string => `take ${what} out of ${where}`;

/** Lists rival servers of `.mcp.json`. A server that the user has rejected is inactive. */
function projectServers(look: Look): Rival[] {
  const all = settings(look);
  const known = projects(look);
  return sheetsOf(
    look,
    [...upwards(look.cwd), ...known.map(({ folder }) => folder)].map((folder) => join(folder, ".mcp.json")),
  ).flatMap((sheet) => {
    const folder = join(sheet.path, "..");
    const rejected = [
      ...all.flatMap((one) => one.words("disabledMcpjsonServers")),
      ...known.flatMap(({ file, folder: at }) =>
        at === folder ? file.words("projects", at, "disabledMcpjsonServers") : [],
      ),
    ];
    return rivalServers(look, sheet, [OUR_NAME, ROAMPAL], "mcpServers")
      .filter(({ name }) => !rejected.includes(name))
      .map(({ name, node }) => ({
        what: `a server called ${name} in the project's .mcp.json`,
        where: sheet.where(node),
        wins: `Claude Code runs it ${name === SERVER ? "instead of" : "beside"} ours in ${folder} once it is approved there`,
        takeOut: inFolder(folder, `claude mcp remove ${quoted(name)} -s project`),
      }));
  });
}

function hooksNamed(look: Look, pattern: RegExp, what: string, wins: string): Rival[] {
  return settings(look).flatMap((sheet) =>
    sheet.members("hooks").flatMap(({ name: event, node: groups }) =>
      (groups.children ?? [])
        .flatMap((group) => valueOf(group, "hooks")?.children ?? [])
        .filter((hook) => pattern.test(String(valueOf(hook, "command")?.value ?? "")))
        .map((hook) => {
          const where = sheet.where(hook);
          return { what: `${what} for ${event}`, where, wins, takeOut: takeOutLine("that hook", where) };
        }),
    ),
  );
}

function flag(sheets: Sheet[], key: string, wins: string, takeOut: (where: string) => string): Rival[] {
  return sheets
    .filter((sheet) => sheet.value(key) === true)
    .map((sheet) => {
      const where = sheet.where(sheet.at(key));
      return { what: key, where, wins, takeOut: takeOut(where) };
    });
}

const askAdministrator = (where: string): string => `the administrator of this machine can change ${where}`;
const NO_HOOKS = "Claude Code runs no hook of ours, so there is no wake-up text and no session is filed";

function rules(look: Look, list: "deny" | "ask", wins: string): Rival[] {
  return settings(look).flatMap((sheet) => {
    const node = sheet.at("permissions", list)?.children?.find(({ value }) => value === RULE || value === `${RULE}__*`);
    if (node === undefined) return [];
    const what = `the permission rule ${list} ${String(node.value)}`;
    return [{ what, where: sheet.where(node), wins, takeOut: takeOutLine("it", sheet.where(node)) }];
  });
}

/** Lists a sandbox in which palace commands reach no broker. Our server runs outside. On Linux the sandbox ignores `allowUnixSockets`. */
function sandbox(look: Look): Rival[] {
  const all = [...settings(look), ...managed(look)];
  if (all.some((sheet) => sheet.value("sandbox", "network", "allowAllUnixSockets") === true)) return [];
  if (process.platform === "darwin" && all.some((sheet) => sheet.words(...ALLOWED_SOCKETS).length > 0)) return [];
  return all
    .filter((sheet) => sheet.value("sandbox", "enabled") === true)
    .slice(0, 1)
    .map((sheet) => ({
      what: "the sandbox refuses every socket",
      where: sheet.where(sheet.at("sandbox", "enabled")),
      wins: "our tools and hooks work, but a palace command that Claude Code types in its shell reaches no broker",
      takeOut: `to let them work, put "network":{"allowAllUnixSockets":true} into "sandbox" of ${userSettings(look)}`,
    }));
}

const ALLOWED_SOCKETS = ["sandbox", "network", "allowUnixSockets"];

/** Lists policies that disable our server: it is in a list of denied servers, or missing from a list of allowed servers. */
function policies(look: Look): Rival[] {
  const isManaged = new Set(managed(look).map(({ path }) => path));
  return [...settings(look), ...managed(look)].flatMap((sheet) =>
    (["deniedMcpServers", "allowedMcpServers"] as const).flatMap((key): Rival[] => {
      const node = sheet.at(key);
      if (node?.type !== "array") return [];
      const names = (node.children ?? []).map((one) => valueOf(one, "serverName")?.value as unknown);
      const isNamed = names.includes(SERVER);
      // Does not report an allow list with entries by command or address, because one of these entries may match our server.
      const isOff = key === "deniedMcpServers" ? isNamed : !isNamed && names.every((name) => typeof name === "string");
      if (!isOff) return [];
      const where = sheet.where(node);
      const takeOut = isManaged.has(sheet.path)
        ? askAdministrator(where)
        : key === "deniedMcpServers"
          ? takeOutLine(SERVER, where)
          : `add {"serverName":"${SERVER}"} in ${where}`;
      return [{ what: key, where, wins: "Claude Code does not start our server", takeOut }];
    }),
  );
}

export const CLAUDE_ROWS: readonly RivalRow[] = [
  {
    name: "strict JSON",
    find: (look) =>
      sheetsOf(look, [look.places.claudeFile, userSettings(look)]).flatMap((sheet) => {
        const fault = sheet.notStrict();
        if (fault === undefined) return [];
        const at = `line ${fault.line}, column ${fault.column}`;
        const isSettings = sheet.path === userSettings(look);
        return [
          {
            what: `${fault.what} in a file that Claude Code reads as strict JSON`,
            where: `${sheet.path}:${fault.line}:${fault.column}`,
            wins: isSettings
              ? "Claude Code reads nothing of this file: no hook of ours runs, so there is no wake-up text and no session is filed"
              : "Claude Code does not start",
            takeOut: `take it out of ${sheet.path}: ${at}`,
          },
        ];
      }),
  },
  {
    name: "local server",
    find: (look) =>
      projects(look).flatMap(({ file, folder }) =>
        rivalServers(look, file, [OUR_NAME, ROAMPAL], "projects", folder, "mcpServers").map(({ name, node }) => ({
          what: `a server called ${name} in local scope`,
          where: file.where(node),
          wins: `Claude Code runs it ${name === SERVER ? "instead of" : "beside"} ours in ${folder}`,
          takeOut: inFolder(folder, `claude mcp remove ${quoted(name)} -s local`),
        })),
      ),
  },
  { name: "project server", find: projectServers },
  {
    name: "disabled server",
    find: (look) =>
      projects(look)
        .filter(({ file, folder }) => file.words("projects", folder, "disabledMcpServers").includes(SERVER))
        .map(({ file, folder }) => ({
          what: `${SERVER} is disabled for a project`,
          where: file.where(file.at("projects", folder, "disabledMcpServers")),
          wins: `Claude Code does not start our server in ${folder}`,
          takeOut: `${inFolder(folder, "claude")}, then: /mcp enable ${SERVER}`,
        })),
  },
  { name: "server policy", find: policies },
  {
    name: "managed servers",
    find: (look) => {
      const path = join(look.places.claudeManagedDir, "managed-mcp.json");
      return sheetsOf(look, [path])
        .filter(
          (sheet) => !sheet.members("mcpServers").some(({ name, node }) => name === SERVER && isOurServer(node, look)),
        )
        .map(() => ({
          what: "a list of servers from the administrator of this machine",
          where: path,
          wins: "Claude Code runs these servers alone, and not ours",
          takeOut: askAdministrator(path),
        }));
    },
  },
  {
    name: "hooks off",
    find: (look) => flag(settings(look), "disableAllHooks", NO_HOOKS, (where) => takeOutLine("disableAllHooks", where)),
  },
  {
    name: "managed hooks",
    find: (look) => [
      ...flag(managed(look), "disableAllHooks", NO_HOOKS, askAdministrator),
      ...flag(managed(look), "allowManagedHooksOnly", NO_HOOKS, askAdministrator),
    ],
  },
  { name: "sandbox", find: sandbox },
  {
    name: "permission rule",
    find: (look) => [
      ...rules(look, "deny", "Claude Code refuses our tools"),
      ...rules(look, "ask", "Claude Code asks before each call, and refuses it when it runs headless"),
    ],
  },
  {
    name: "plugin",
    find: (look) =>
      settings(look).flatMap((sheet) =>
        sheet
          .members("enabledPlugins")
          .filter(({ name, node }) => /^(?:mempalace|roampal)[^@]*@/i.test(name) && getNodeValue(node) === true)
          .map(({ name, node }) => ({
            what: `the plugin ${name}`,
            where: sheet.where(node),
            wins: "Claude Code runs its server and its hooks beside ours",
            takeOut: `claude plugin disable ${quoted(name)}`,
          })),
      ),
  },
  {
    name: "MemPalace's hooks",
    find: (look) => hooksNamed(look, PYTHON_HOOK, "MemPalace's own hook", "each session is filed twice, in two forms"),
  },
  {
    name: "Roampal's hooks",
    find: (look) => hooksNamed(look, ROAMPAL_HOOK, "Roampal's hook", "each prompt gets the texts of both memories"),
  },
  {
    name: "Roampal's server",
    find: (look) =>
      claudeFile(look).flatMap((sheet) =>
        rivalServers(look, sheet, [ROAMPAL], "mcpServers").map(({ name, node }) => ({
          what: `Roampal's server ${name}`,
          where: sheet.where(node),
          wins: "the model sees the tools of both memories",
          takeOut: `claude mcp remove ${quoted(name)} -s user`,
        })),
      ),
  },
];
