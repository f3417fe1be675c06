/** Kept plans and policies: of two users whose rights differ neither gets the SQL that was made for the other. */
import { describe, expect, test } from 'vitest';
import { compileSql } from '../src/compile-sql.ts';
import { createCompiler } from '../src/compiler.ts';
import { duckdb } from '../src/dialects/duckdb.ts';
import { postgres } from '../src/dialects/postgres.ts';
import type { AttributeValue, Subject } from '../src/policy/subject.ts';
import { loadModel } from './load-model.ts';

const model = loadModel(`
cubes:
  - name: notes
    sql_table: notes
    joins: [{ name: people, relationship: many_to_one, sql: "{CUBE}.person_id = {people.id}" }]
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: a, sql: a, type: string }
      - { name: b, sql: b, type: string }
      - { name: at, sql: at, type: time }
      - { name: person, sql: "{people.name}", type: string }
    access_policy:
      - group: one
        row_level:
          filters:
            - or:
                - { member: a, operator: equals, values: ["{ userAttributes.x }"] }
                - { member: b, operator: equals, values: ["{ userAttributes.y }"] }
                - { member: a, operator: equals, values: ["{ userAttributes.z }"] }
      - group: list
        row_level:
          filters: [{ member: a, operator: equals, values: ["{ userAttributes.x }", "{ userAttributes.y }"] }]
      - group: dated
        row_level: { filters: [{ member: at, operator: beforeOrOnDate, values: ["{ userAttributes.x }"] }] }
      - group: all
  - name: logs
    sql_table: logs
    joins: [{ name: people, relationship: many_to_one, sql: "{CUBE}.person_id = {people.id}" }]
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }]
  - name: people
    sql_table: people
    dimensions:
      - { name: id, sql: id, type: number, primary_key: true }
      - { name: name, sql: name, type: string, mask: hidden }
    access_policy:
      - group: named
      - group: unnamed
        member_masking: { includes: [name] }
      - group: mine
        row_level: { filters: [{ member: name, operator: contains, values: ["{ userAttributes.x }"] }] }
views:
  - name: bare
    cubes: [{ join_path: logs.people, includes: [name] }]
  - name: board
    cubes:
      - { join_path: notes, includes: [id, a] }
      - { join_path: notes.people, includes: [name] }
    access_policy:
      - group: reader
      - group: clerk
        member_masking: { includes: [name] }
      - group: owner
        row_level: { filters: [{ member: a, operator: equals, values: ["{ userAttributes.x }"] }] }
`);
const user = (groups: string, userAttributes: Record<string, AttributeValue> = {}): Subject => ({
  groups: groups.split(' '),
  userAttributes,
  securityContext: {},
  embedTenantName: null,
  isEmbedTenantScope: false,
  seesUnprotected: false,
});
const [notes, people, board] = ['SELECT id, a FROM notes', 'SELECT name FROM people', 'SELECT id, name FROM board'];

const pairs: readonly [what: string, sql: string, one: Subject, other: Subject][] = [
  ['one value for one member or for another', notes, user('one', { x: 'v' }), user('one', { y: 'v' })],
  ['one value in two places for one member', notes, user('one', { x: 'v' }), user('one', { z: 'v' })],
  ['a list here or there', notes, user('list', { x: ['u'], y: ['v', 'w'] }), user('list', { x: ['u', 'v'], y: 'w' })],
  ['a day and an instant', notes, user('dated', { x: '2024-01-31' }), user('dated', { x: '2024-01-31 10:00' })],
  ['a value or all rows', notes, user('one', { x: 'v' }), user('all')],
  ['a value or none', notes, user('one', { x: 'v' }), user('one')],
  ['no rows or all rows', notes, user('one'), user('all')],
  ['a mask or none', people, user('named'), user('unnamed')],
  ['of a cube that a member reads', 'SELECT person FROM notes', user('all named'), user('all unnamed')],
  ['of a cube that serves a join', board, user('reader all named'), user('reader all mine', { x: 'v' })],
  ['a mask of a view or none', board, user('reader all named'), user('clerk all named')],
  ['rows of a view or all', board, user('reader all named'), user('owner all named', { x: 'v' })],
  ['rows that nothing protects', 'SELECT 1 FROM bare', { ...user('named'), seesUnprotected: true }, user('named')],
  ['a pattern of one user or of another', people, user('mine', { x: 'u%' }), user('mine', { x: 'v' })],
];

describe.each([duckdb, postgres])('$name', (dialect) => {
  test.each(pairs)('%s', (_, sql, one, other) => {
    const cold = (subject: Subject) => compileSql(sql, model, subject, dialect);
    expect(cold(one)).not.toEqual(cold(other));
    const compiler = createCompiler(model, dialect);
    for (const subject of [one, other, one]) expect(compiler.compile(sql, subject)).toEqual(cold(subject));
  });
});
