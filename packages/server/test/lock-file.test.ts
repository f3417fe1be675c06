/** A lock file made on one platform has to serve all (docs/decisions/0001): `npm ci` must find every platform package. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';

const lockSchema = z.object({
  lockfileVersion: z.literal(3),
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
const text = await readFile(new URL('../../../package-lock.json', import.meta.url), 'utf8');
const { packages } = lockSchema.parse(JSON.parse(text));

/** The place at which Node finds `name` from the package at `place`: the nearest node_modules above it that has it. */
function find(place: string, name: string): string | undefined {
  const folders = place.split('/');
  for (let length = folders.length; length >= 0; length--) {
    if (folders[length - 1] === 'node_modules') continue;
    const candidate = [...folders.slice(0, length).filter(Boolean), 'node_modules', name].join('/');
    if (packages[candidate] !== undefined) return candidate;
  }
  return undefined;
}

test('the lock file has every optional package of every package', () => {
  const wanted = Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => ({ place, name })),
  );
  // Biome, DuckDB, Rolldown and others have several each: no list means that the test reads the wrong thing.
  expect(wanted.length).toBeGreaterThan(30);
  expect(wanted.filter(({ place, name }) => find(place, name) === undefined)).toStrictEqual([]);
});

test.each(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'])('%s has its DuckDB', (platform) => {
  expect(packages[`node_modules/@duckdb/node-bindings-${platform}`]?.integrity).toMatch(/^sha512-/);
});

test('no package is bound to a registry host, and each has its checksum', () => {
  for (const [place, { resolved, integrity, link }] of Object.entries(packages)) {
    expect(resolved ?? '', place).not.toContain('//');
    if (place.startsWith('node_modules/') && link !== true) expect(integrity, place).toMatch(/^sha512-/);
  }
});
