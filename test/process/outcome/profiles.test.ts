/** Roampal's profiles at the HTTP API: this memory is the profile `default`, and no request for another one reaches it. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { get, post, told, withDoors } from "../../helpers/outcome-http.ts";

test("a request for another of Roampal's profiles is refused, and a bound folder is such a request", async () => {
  await using palace = await withDoors(false);
  const settings = join(palace.home, ".config/roampal");
  const registry = join(settings, "profiles.json");
  const work = join(palace.home, "work");
  mkdirSync(join(work, "app/öl"), { recursive: true });
  mkdirSync(join(work, "free"));
  symlinkSync(join(work, "app"), join(palace.home, "link"));
  mkdirSync(settings, { recursive: true });
  const ask = async (headers: Record<string, string>): Promise<{ status: number; detail: unknown }> => {
    const body = { content: "WORK secret: the client is Contoso" };
    const answer = await post({ ...palace.socket, headers }, "/api/memory-bank/add", body);
    return { status: answer.status, detail: answer.body["detail"] };
  };
  const inFolder = (...path: string[]): ReturnType<typeof ask> =>
    ask({ "x-roampal-cwd": encodeURIComponent(join(palace.home, ...path)) });

  const unknown = { status: 404, detail: expect.stringContaining('Profile "work" is not registered') };
  expect(await ask({ "x-roampal-profile": "work" })).toEqual(unknown);
  expect(await inFolder("work")).toMatchObject({ status: 200 });
  writeFileSync(
    registry,
    JSON.stringify({ work: null, bindings: { [work]: "work", [join(work, "free")]: "default" } }),
  );
  expect(await ask({ "x-roampal-profile": " work " })).toMatchObject({
    ...{ status: 404, detail: expect.stringContaining("palace --palace DIR outcome import") },
  });
  for (const path of [["work"], ["work", "app", "öl"], ["link"]])
    expect(await inFolder(...path)).toMatchObject({ status: 404 });
  // The closest bound folder wins, and a name wins over a folder.
  expect(await inFolder("work", "free")).toMatchObject({ status: 200 });
  expect(await inFolder("elsewhere")).toMatchObject({ status: 200 });
  const named = { "x-roampal-profile": "default", "x-roampal-cwd": encodeURIComponent(work) };
  expect(await ask(named)).toMatchObject({ status: 200 });
  // A half-written registry does not tell whose request it is.
  writeFileSync(registry, '{"work": nu');
  expect(await ask({ "x-roampal-profile": "work" })).toMatchObject({ status: 503 });
  expect(await inFolder("work")).toMatchObject({ status: 503, detail: expect.stringContaining(registry) });
  expect(await ask({ "x-roampal-profile": "default" })).toMatchObject({ status: 200 });
  rmSync(registry);
  // `roampal profile use work`: meant by who names nothing.
  writeFileSync(join(settings, "active_profile"), "work\n");
  expect(await ask({})).toMatchObject({ status: 404 });
  expect(await ask({ "x-roampal-profile": "default" })).toMatchObject({ status: 200 });
  expect((await get(palace.socket, "/api/health")).status).toBe(200);
  rmSync(join(settings, "active_profile"));
  expect(await told(palace.socket, "/api/stats")).toMatchObject({ collections: { memory_bank: { count: 6 } } });
});
