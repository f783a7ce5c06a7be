/**
 * Finds product names of several words. Source: MemPalace 3.11, `data/known_systems.json` (MIT, Copyright (c) 2026 MemPalace Contributors)
 * and `_apply_known_systems_prepass`.
 */
import { anyCase, wholeWord } from "../text/text.ts";

const NAMES = `Claude Code,Claude Desktop,Claude Sonnet,Claude Opus,Claude Haiku,Claude Sonnet 4.5,Claude Sonnet 4.6
Claude Opus 4.5,Claude Opus 4.6,Claude Opus 4.7,Gemini Code Assist,Gemini 1.5 Pro,Gemini 2.5 Pro,Gemini 2.5 Flash,Gemini Pro
Gemini Flash,GitHub Copilot,GitHub Copilot CLI,Microsoft Copilot,Visual Studio Code,Visual Studio,IntelliJ IDEA,Android Studio
Sublime Text,Replit Agent,Docker Desktop,Docker Compose,GitHub Actions,GitHub Pages,GitHub Codespaces,GitHub Pull Request
Hugging Face,Stack Overflow,Stack Exchange,Hacker News,Y Combinator,Google Cloud Platform,Amazon Web Services,Microsoft Azure
Azure DevOps,Notion AI,OpenAI API,Anthropic Console,GPT-4,GPT-4o,GPT-5,Llama 3,Llama 3.1,Mistral Small,Mistral Large
Microsoft Word,Microsoft Excel,Microsoft PowerPoint,Google Docs,Google Sheets,Google Drive,Google Cloud,Apple Watch,Apple TV`;

/** Names, the longest first, so that a name within another name is not counted again. */
const PRODUCTS = NAMES.split(/[,\n]/).sort((a, b) => b.length - a.length);

/** Patterns of the names. They are made for the first text that needs them, so that a broker starts faster. */
let patterns: readonly (readonly [name: string, pattern: RegExp])[] | undefined;

/** Beginnings of the names. Most texts contain none of them and need no further search. */
const BEGINNINGS = new Set(PRODUCTS.map((name) => anyCase(name.slice(0, Math.max(6, name.search(/[ -]/) + 3)))));
const BEGINNING = new RegExp([...BEGINNINGS].join("|"), "iu");

/** Counts the products in a text, the longest name first. `rest`: the text with blanks in place of these names. */
export function takeProducts(text: string): { rest: string; counts: [name: string, count: number][] } {
  const counts: [string, number][] = [];
  if (!BEGINNING.test(text)) return { rest: text, counts };
  let rest = text;
  patterns ??= PRODUCTS.map((name) => [name, wholeWord(name, "g")]);
  for (const [name, pattern] of patterns) {
    let count = 0;
    rest = rest.replace(pattern, (found) => {
      count += 1;
      return " ".repeat(found.length);
    });
    if (count > 0) counts.push([name, count]);
  }
  return { rest, counts };
}
