/** Names that every project has, so they make no tunnel. Source: MemPalace 3.11 (MIT, Copyright (c) 2026 MemPalace Contributors). */
import { strip } from "../text/text.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const GENERIC = words(`
  bash read write edit grep glob task agent websearch webfetch toolsearch structuredoutput askuserquestion skill
  monitor notebookedit todowrite app server service client gateway api handler controller model view config settings
  utils util helpers helper index main core common base test tests spec fixture mock github github.com gitlab git npm
  pip uv docker dockerfile compose.yml docker-compose.yml package.json package-lock.json tsconfig.json pyproject.toml
  requirements.txt readme readme.md changelog.md license .env .gitignore makefile lib src dist build node_modules
  created_at updated_at id name type value data result results error errors mod types routes router store page layout
  schema schemas models constants logger middleware services component components hooks context styles style theme
  globals setup init __init__ repository entity entities interfaces interface enums enum validators validator
  cargo.toml cargo.lock go.mod go.sum gemfile gemfile.lock setup.py setup.cfg uv.lock poetry.lock yarn.lock
  pnpm-lock.yaml package-lock.json roadmap.md contributing.md security.md license.md code_of_conduct.md todo.md
  notes.md .eslintrc .prettierrc vite.config.ts next.config.js tailwind.config.js webpack.config.js jest.config.js
  vitest.config.ts vercel.json fly.toml procfile created_by updated_by deleted_at deleted_by user_id primary_key
  foreign_key is_active is_deleted read_text write_text changedetectionstrategy changedetectionstrategy.onpush
  changedetectionstrategy.eager changedetectorref oninit ondestroy onchanges injectable ngmodule httpclient
  formsmodule commonmodule usestate useeffect usememo usecallback useref usecontext usereducer afterviewinit
  routerlink docker-compose python.exe xcode.app assert_eq to_string serde_json transformers.js tool_call tool_calls
  authored_at memory.used total_bytes tsconfig.app tsconfig.spec failure_scenario db ctx.allocator powershell.exe
  cmd.exe valueerror typeerror keyerror docker-compose.yaml docker-compose.yml source_file memory.total buffer.from
  hashmap hashset vec box arc rc
`);
const SOURCE_EXTENSIONS = words(`
  js mjs cjs ts tsx jsx py rs go rb php java kt swift cs c cc cpp h hpp zig css scss html vue svelte sql sh
`);
/** Names from runtimes, standard libraries and test frameworks. */
const LIBRARIES = words(`
  os sys json re pathlib subprocess asyncio typing datetime time logging math random collections itertools functools
  shutil io tempfile unittest pytest np numpy pd pandas plt torch tf document window console process page browser
  navigator locator expect react vue angular fs path http https crypto util express next localstorage sessionstorage
  self this cls super
`);

/** Matches the form of a generic name: a word in lower case, a bare path, or a constant in capitals. */
const PLAIN = /^(?:[a-z]{2,8}|[a-z]{9,12}|\/[A-Za-z0-9_-]+\/?|[A-Z][A-Z0-9_]{2,15})$/;

export function isGenericName(name: string): boolean {
  const text = strip(name);
  if (PLAIN.test(text)) return true;
  if (!text.includes("/") && text.includes(".")) {
    const dot = text.lastIndexOf(".");
    const isSource = SOURCE_EXTENSIONS.has(text.slice(dot + 1).toLowerCase());
    if (isSource && GENERIC.has(text.slice(0, dot).toLowerCase())) return true;
    if (!isSource && LIBRARIES.has(text.slice(0, text.indexOf(".")).toLowerCase())) return true;
  }
  return GENERIC.has(text.replace(/\/+$/, "").toLowerCase());
}
