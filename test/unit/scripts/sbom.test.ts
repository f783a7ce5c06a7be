/** Tests the bill of materials against the lockfile, which lists the packages that an install brings. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../../scripts/main.ts";
import { makeSbom } from "../../../scripts/sbom.ts";

type Component = { "bom-ref": string; name: string; version: string; purl: string; hashes?: { content: string }[] };
type Sbom = {
  bomFormat: string;
  specVersion: string;
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
};
type Locked = { version: string; integrity: string; dev?: boolean; dependencies?: Record<string, string> };

const sbom = makeSbom(process.env) as Sbom;
const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
  packages: Record<string, Locked>;
};
/** Packages that the build copies into our files, and packages that the copied ones need. */
const CONTAINED = /^node_modules\/(?:@opentelemetry\/[\w-]+|preact)$/;
const locked = Object.entries(packages)
  .filter(([path, { dev }]) => path !== "" && (dev !== true || CONTAINED.test(path)))
  .map(([path, one]) => ({ ...one, name: path.replace(/^.*node_modules\//, "") }));

test("the bill of materials lists exactly the production packages and the bundled packages, each with its checksum", () => {
  const named = (all: { name: string; version: string }[]): string[] => [
    ...new Set(all.map(({ name, version }) => `${name}@${version}`)),
  ];
  expect(locked.length).toBeGreaterThan(50);
  expect(named(sbom.components).toSorted()).toEqual(named(locked).toSorted());
  const sums = new Map(locked.map(({ name, version, integrity }) => [`${name}@${version}`, integrity]));
  for (const { name, version, hashes } of sbom.components) {
    const [, sum = ""] = /^sha512-(.*)$/.exec(sums.get(`${name}@${version}`) ?? "") ?? [];
    expect(
      hashes?.map(({ content }) => content),
      name,
    ).toEqual([Buffer.from(sum, "base64").toString("hex")]);
  }
});

test("the bill of materials is CycloneDX: each reference leads to a component, and the component of this package depends on the packages in package.json", () => {
  const own = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    name: string;
    version: string;
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  expect(sbom).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.5" });
  const { component } = sbom.metadata;
  expect(component).toMatchObject({ name: own.name, version: own.version, purl: `pkg:npm/${own.name}@${own.version}` });
  const refs = new Set([component, ...sbom.components].map((one) => one["bom-ref"]));
  const named = sbom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
  expect(named.filter((ref) => !refs.has(ref))).toEqual([]);
  const ours = sbom.dependencies.find(({ ref }) => ref === component["bom-ref"])?.dependsOn;
  const contained = Object.entries(own.devDependencies).filter(([name]) => CONTAINED.test(`node_modules/${name}`));
  const wanted = [...Object.entries(own.dependencies), ...contained].map(([name, version]) => `${name}@${version}`);
  expect(ours?.toSorted()).toEqual(wanted.toSorted());
});

test("the same lockfile gives the same bill of materials", () => {
  expect(makeSbom(process.env)).toEqual(sbom);
});
