/** Limits on everything that comes from outside, with their units last in the name. */
export const limits = {
  bodyBytesMax: 1_048_576,
  nameCharactersMax: 128,
  externalIdCharactersMax: 255,
  groupsMax: 500,
  attributesMax: 500,
  attributeStringBytesMax: 4096,
  attributeItemsMax: 1000,
  securityContextBytesMax: 16_384,
  securityContextDepthMax: 8,
  pictureUrlCharactersMax: 2048,
  displayNameCharactersMax: 255,
  emailCharactersMax: 320,
  inputCharactersMax: 32_000,
  chatIdCharactersMax: 255,
  sqlCharactersMax: 65_536,
  ephemeralTtlSecondsMax: 31_536_000,
} as const;
