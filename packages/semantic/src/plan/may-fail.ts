/** Which conditions of a query can fail on a value, as an overflow does, and would so tell of rows that nobody may see. */
import { contains, partsOf, type ResolvedExpression } from '../query/resolved-expression.ts';

/**
 * Whether a warehouse could fail to compute this for some row. An engine moves conditions about and may try one on rows
 * that a row filter or a join would drop; if that fails, the failure says something of those rows, which whoever asks can
 * choose (`quantity * 1000000`). What is not known to be safe counts as unsafe.
 */
export function mayFail(expression: ResolvedExpression): boolean {
  switch (expression.kind) {
    case 'dimension':
    case 'measure':
    case 'literal':
    case 'time':
      return false;
    case 'number':
      // Beside a literal of many digits a column is turned into a wide decimal, which large values do not fit.
      return expression.text.length > 18 || (expression.text.split('.')[1]?.length ?? 0) > 9;
    case 'compare':
    case 'between':
    case 'in':
    case 'and':
    case 'or':
    case 'not':
    case 'is-null':
    case 'like':
    case 'case':
    case 'date-trunc':
      return partsOf(expression).some(mayFail);
    case 'call':
      if (expression.name === 'round' || expression.name === 'abs') return contains(expression, 'dimension');
      return partsOf(expression).some(mayFail);
    case 'arithmetic':
    case 'negate':
      return contains(expression, 'dimension');
  }
}
