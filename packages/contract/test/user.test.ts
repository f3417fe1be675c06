import { expect, test } from 'vitest';
import { defaultLimits } from '../src/limits.ts';
import { userShapes } from '../src/user.ts';

const { userProfile } = userShapes(defaultLimits);

test.each([
  ['https://a.example/p.png', true],
  ['HTTP://A.EXAMPLE', true],
  ['https://a.example/a b.png', true],
  ['http://[::1]:8080/p?x=1#y', true],
  ['https:a.example/p.png', false],
  ['https:/a.example/p.png', false],
  ['https:\\\\a.example', false],
  ['https://a.example/\np.png', false],
  ['ht\ttps://a.example', false],
  ['https://', false],
  ['javascript://a.example/%0aalert(1)', false],
])('%j is the URL of a picture: %s (service.md 4.1 rule 2)', (picture, isOne) => {
  expect(userProfile.safeParse({ picture }).success).toBe(isOne);
});
