/** Random expressions of semantic SQL over the columns of a table, of every type, as text. */
import fc from 'fast-check';
import type { ColumnType } from '../engines.ts';

/** What expressions are made of. */
export interface Vocabulary {
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly numbers: readonly string[];
  readonly texts: readonly string[];
  readonly times: readonly string[];
  /** Whether numbers that are almost equal may be compared, or made texts of, where engines may differ by the last digit. */
  readonly isExact: boolean;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const all = (...parts: readonly (fc.Arbitrary<string> | string)[]): fc.Arbitrary<string> =>
  fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((texts) => texts.join(''));

/** An expression of each type. */
export function randomExpressions(vocabulary: Vocabulary, depth = 3) {
  const { columns, numbers, texts, times, isExact } = vocabulary;
  const named = (...types: readonly string[]): string[] =>
    Object.entries(columns).flatMap(([name, type]) => (types.includes(type.replace(/[(].*/, '')) ? [name] : []));
  const numberColumns = named('integer', 'bigint', 'double', 'decimal');
  const timeColumns = named('timestamp', 'date');
  const { number, whole, text, truth, time } = fc.letrec<
    Record<'number' | 'whole' | 'text' | 'truth' | 'time', string>
  >((tie) => {
    const deep = { maxDepth: depth, depthSize: 'small' as const };
    const [aNumber, aText, aTruth, aTime] = [tie('number'), tie('text'), tie('truth'), tie('time')];
    const oneNumber = fc.constantFrom(...numberColumns);
    const aWhole = tie('whole');
    const operator = fc.constantFrom(' = ', ' <> ', ' < ', ' <= ', ' > ', ' >= ');
    const places = fc.constantFrom('0', '1', '2', '-1');
    const unit = fc.constantFrom('second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year');
    const compared = isExact ? oneNumber : aNumber;
    return {
      number: fc.oneof(
        deep,
        oneNumber,
        fc.constantFrom(...numbers),
        all('(', aNumber, fc.constantFrom(' + ', ' - ', ' * ', ' / '), aNumber, ')'),
        all('(- ', aNumber, ')'),
        all(
          fc.constantFrom('abs', 'sign', ...(isExact ? [] : ['trunc', 'ceil', 'floor', 'round', 'sqrt', 'exp', 'ln'])),
          '(',
          aNumber,
          ')',
        ),
        ...(isExact
          ? []
          : [
              all('round(', aNumber, ', ', places, ')'),
              all(fc.constantFrom('mod', 'power'), '(', aNumber, ', ', aNumber, ')'),
              all('CAST(', aNumber, ' AS ', fc.constantFrom('bigint', 'double precision', 'numeric(12,3)'), ')'),
            ]),
        all(fc.constantFrom('coalesce', 'nullif'), '(', oneNumber, ', ', fc.constantFrom('0', '7'), ')'),
        all('CASE WHEN ', aTruth, ' THEN ', aNumber, ' ELSE (1 * ', oneNumber, ') / 2 END'),
        all('length(', aText, ')'),
        all('strpos(', aText, ', ', aText, ')'),
        all(
          'date_part(',
          fc.constantFrom(...['year', 'month', 'week', 'isoyear', 'dow', 'doy', 'hour', 'second', 'epoch'].map(quoted)),
          ', ',
          aTime,
          ')',
        ),
        all('CAST(', aText, ' AS ', fc.constantFrom('bigint', 'double precision', 'numeric(10,2)'), ')'),
      ),
      whole: fc.oneof(fc.integer({ min: -3, max: 9 }).map(String), fc.constantFrom(...numberColumns)),
      text: fc.oneof(
        deep,
        fc.constantFrom(...named('text')),
        fc.constantFrom(...texts).map(quoted),
        all('(', aText, ' || ', aText, ')'),
        all(fc.constantFrom('lower', 'upper', 'trim', 'ltrim', 'rtrim'), '(', aText, ')'),
        all(fc.constantFrom('left', 'right', 'substring'), '(', aText, ', ', aWhole, ')'),
        all('substring(', aText, ', ', aWhole, ', ', aWhole, ')'),
        all('replace(', aText, ', ', aText, ', ', aText, ')'),
        all(
          'split_part(',
          aText,
          ', ',
          fc.constantFrom("','", "' '", "''"),
          ', ',
          fc.constantFrom('1', '2', '-1'),
          ')',
        ),
        all(
          'concat(',
          aText,
          ', ',
          isExact ? fc.constantFrom(...named('integer', 'bigint')) : aNumber,
          ', ',
          aTruth,
          ')',
        ),
        all(fc.constantFrom('coalesce', 'nullif', 'greatest', 'least'), '(', aText, ', ', aText, ')'),
        all('CASE WHEN ', aTruth, ' THEN ', aText, ' ELSE ', aText, ' END'),
        all('CAST(', fc.oneof(aTime, aTruth), ' AS text)'),
      ),
      truth: fc.oneof(
        deep,
        fc.constantFrom(...named('boolean')),
        fc.constantFrom('true', 'false'),
        all('(', compared, operator, compared, ')'),
        all('(', compared, operator, fc.constantFrom(...numbers), ')'),
        all('(', aText, operator, aText, ')'),
        all('(', aTime, operator, aTime, ')'),
        all(
          '(',
          oneNumber,
          fc.constantFrom(' IN (', ' NOT IN ('),
          fc.constantFrom(...numbers),
          ', ',
          fc.constantFrom(...numbers),
          '))',
        ),
        all('(', aText, ' IN (', aText, ', ', fc.constantFrom(...texts).map(quoted), '))'),
        all('(', compared, ' BETWEEN ', fc.constantFrom(...numbers), ' AND ', compared, ')'),
        all(
          '(',
          aText,
          fc.constantFrom(' LIKE ', ' NOT LIKE ', ' ILIKE '),
          fc.constantFrom("'%a%'", "'_b'", "'\\_%'", "'%'"),
          ')',
        ),
        all('(', aTruth, fc.constantFrom(' AND ', ' OR ', ' = '), aTruth, ')'),
        all('(NOT ', aTruth, ')'),
        all('(', aTruth, fc.constantFrom(' IS TRUE', ' IS NOT FALSE', ' IS NULL'), ')'),
        all('(', aText, ' IS NOT NULL)'),
        all('starts_with(', aText, ', ', aText, ')'),
        all('CAST(', aText, ' AS boolean)'),
      ),
      time: fc.oneof(
        deep,
        fc.constantFrom(...timeColumns),
        all('date_trunc(', unit.map(quoted), ', ', aTime, ')'),
        all(
          '(',
          aTime,
          fc.constantFrom(' + ', ' - '),
          'INTERVAL ',
          fc.constantFrom(...["'1 month'", "'13 days'", "'1 year 36 hours'"]),
          ')',
        ),
        all('CAST(', aTime, ' AS date)'),
        all('CASE WHEN ', aTruth, ' THEN ', aTime, ' END'),
        all('CAST((', aText, " || '') AS timestamp)"),
        all('coalesce(', fc.constantFrom(...timeColumns), ', ', fc.constantFrom(...times).map(quoted), ')'),
      ),
    };
  });
  return { number, whole, text, truth, time };
}
