/** Users and passwords in addresses are hidden, and all other texts stay unchanged. */
import { expect, test } from "vitest";
import { withoutPassword } from "../../../src/base/without-password.ts";

test.each([
  ["http://ada:hunter2@h:1/v1", "http://…@h:1/v1"],
  ["http://:hunter2@h", "http://…@h"],
  ["http://ada:hun/ter2@h", "http://…@h"],
  ["http://ada:hun?ter2@h", "http://…@h"],
  ["http://ada:hun#ter2@h", "http://…@h"],
  ["http://ada:hun\"ter'2@h", "http://…@h"],
  ["http://ada:hun@ter2@h", "http://…@h"],
  ["http://ada:a://hunter2@h", "http://ada:a://…@h"],
  ["http://hunter2@h", "http://…@h"],
  ["http://hunter2:x-oauth-basic@h", "http://…@h"],
  ["HTTPS://hunter2@h", "HTTPS://…@h"],
  ["ssh://ada:hunter2@h", "ssh://ada:…@h"],
  ["see http://a:1@h and http://b:2@h, not c@d", "see http://…@h and http://…@h, not c@d"],
  ["http://h/x,http://ada:hunter2@h", "http://h/x,http://…@h"],
  ['{"a":"http://h/","b":"http://ada:hunter2@h"}', '{"a":"http://h/","b":"http://…@h"}'],
  ["[http://h/](http://ada:hunter2@h)", "[http://h/](http://…@h)"],
])("the address %s is shown as %s", (text, shown) => expect(withoutPassword(text)).toBe(shown));

test.each([
  "ssh://ada@h:22",
  "git+ssh://git@h/x",
  "git@h:x/y",
  "ada@example.org",
  "http://127.0.0.1:8000/v1 of ada@example.org",
  '{"a":"http://h:8000/","b":"ada@example.org"}',
  "https://h/@scope/name@1.2.3",
  "http://h/?mail=ada@example.org",
  "http://[::1]:8000/a@b",
  "http://@h",
  "unix:/run/a@b.sock",
])("the text %s stays unchanged", (text) => expect(withoutPassword(text)).toBe(text));
