import { expect, test } from 'vitest';
import { requireDefaultBranch } from '../src/http/require-default-branch.ts';

const apiKey = { kind: 'api-key' } as const;
const embedToken = { kind: 'embed-token' } as const;

test.each([
  {},
  { activeBranchName: 'main' },
  { activeBranchName: 'main', isDefaultBranch: true },
  { isDefaultBranch: true },
])('%o is the default branch', (named) => {
  for (const caller of [apiKey, embedToken]) expect(() => requireDefaultBranch(named, caller)).not.toThrow();
});

test.each([
  [{ activeBranchName: 'dev' }, 'BRANCH_NOT_FOUND', 'BRANCH_NOT_ALLOWED'],
  [{ activeBranchName: 'dev', isDefaultBranch: true }, 'BRANCH_NOT_FOUND', 'BRANCH_NOT_ALLOWED'],
  [{ isDefaultBranch: false }, 'INVALID_REQUEST', 'INVALID_REQUEST'],
  [{ activeBranchName: 'main', isDefaultBranch: false }, 'INVALID_REQUEST', 'INVALID_REQUEST'],
])('%o is refused', (named, byKey, byToken) => {
  expect(() => requireDefaultBranch(named, apiKey)).toThrow(expect.objectContaining({ code: byKey }));
  expect(() => requireDefaultBranch(named, embedToken)).toThrow(expect.objectContaining({ code: byToken }));
});
