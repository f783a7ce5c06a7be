/** Tests the choice of a room, by the project's rooms, or by folder names if the project has no rooms (palace.md 5.2, 5.8). */
import { expect, test } from "vitest";
import { placeDocument, stemOf } from "../../../../src/feeders/doc-miner/room.ts";

const rooms = [
  { name: "backend", keywords: ["api", "server"] },
  { name: "web-ui", keywords: ["react"] },
  { name: "planning", keywords: ["roadmap", "planning"] },
];
const room = (path: string, text = ""): string => placeDocument(path, text, rooms).room;

test("the outermost matching folder decides the room", () => {
  expect(room("API/react/readme.md")).toBe("backend");
  expect(room("misc/react/readme.md")).toBe("web-ui");
});

test("a room matches whole tokens of a folder name", () => {
  expect(room("my-api.v2/readme.md")).toBe("backend");
  expect(room("ui/readme.md")).toBe("web-ui");
  expect(room("rapid/readme.md")).toBe("general");
});

test("the file's stem matches room names, but not keywords", () => {
  expect(room("misc/backend-notes.md")).toBe("backend");
  expect(room("misc/server.md")).toBe("general");
});

test("without a matching folder the words of the first 2000 characters decide the room", () => {
  expect(room("a.md", "React and react on the server")).toBe("web-ui");
  expect(room("a.md", "server react")).toBe("backend");
  expect(room("a.md", `${"x".repeat(2000)} react`)).toBe("general");
});

test("the first 2000 characters are counted as code points", () => {
  expect(room("a.md", `${"😀".repeat(1995)}react`)).toBe("web-ui");
  expect(room("a.md", `${"😀".repeat(1996)}react`)).toBe("general");
});

test("a keyword counts twice if it is also the room's name", () => {
  expect(room("a.md", "planning react react")).toBe("web-ui");
  expect(room("a.md", "planning planning react react react")).toBe("planning");
});

test("if a project has no rooms, the first folder decides by the table of known names", () => {
  const placed = (path: string): string => placeDocument(path, "", undefined).room;
  expect(placed("docs/deep/a.md")).toBe("documentation");
  expect(placed("Front-End/a.md")).toBe("frontend");
  expect(placed("infra/docs/a.md")).toBe("configuration");
  expect(placed("README.md")).toBe("general");
  expect(placed("lib/docs/a.md")).toBe("general");
});

test("a stem is the name without its last extension", () => {
  expect([stemOf("a.b.md"), stemOf(".profile"), stemOf("Makefile")]).toEqual(["a.b", ".profile", "Makefile"]);
});
