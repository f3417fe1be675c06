/** The data API, whose replies share the places of a user. */
import type { Context } from '../../../context.ts';
import { createPlaces } from '../../places.ts';
import type { App } from '../../route.ts';
import { cubeSqlRoute } from './cubesql.ts';
import { loadRoutes } from './load.ts';
import { metaRoutes } from './meta.ts';
import { sqlRoutes } from './sql.ts';

/** Registers the routes of the data API. */
export function dataRoutes(app: App, context: Context): void {
  const places = createPlaces(context.config.dataRepliesPerUserMax);
  metaRoutes(app, context);
  loadRoutes(app, context, places);
  sqlRoutes(app, context);
  cubeSqlRoute(app, context, places);
}
