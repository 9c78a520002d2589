import {
  AppliesQuery,
  AppliesReply,
  ApplyId,
  ApplyReply,
  DriftReply,
  PlanReply,
  VersionNumber,
  VersionObject,
  VersionObjectReply,
  VersionReply,
  VersionsReply,
} from '@offhook/contract/config-applies.ts';
import type { App } from '../../../ports/http.ts';
import { checkWholeSite } from '../draft.ts';
import type { ConfigApplies } from './service.ts';

/** Reading plans, applies, versions and what was changed by hand. */
export function applyRoutes(app: App, applies: ConfigApplies): void {
  const tags = ['config'];
  const access = { level: 'admin', scope: 'config:read' } as const;
  app.get(
    '/api/v1/config/plan',
    {
      config: { ...access, errors: ['invalid_request', 'engine_unavailable', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'What applying the draft would change: objects, and lines of files; secrets hidden',
        response: { 200: PlanReply },
      },
    },
    async (request) => {
      checkWholeSite(request.person());
      return await applies.plan();
    },
  );
  app.get(
    '/api/v1/config/applies',
    {
      config: { ...access, errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'Applies, newest first; the last 1,000 are kept',
        querystring: AppliesQuery,
        response: { 200: AppliesReply },
      },
    },
    async (request) => {
      checkWholeSite(request.person());
      return { success: true as const, ...(await applies.page(request.query)) };
    },
  );
  app.get(
    '/api/v1/config/applies/:id',
    {
      config: { ...access, errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'One apply and how far it is',
        params: ApplyId,
        response: { 200: ApplyReply },
      },
    },
    async (request) => {
      checkWholeSite(request.person());
      return { success: true as const, apply: await applies.one(Number(request.params.id)) };
    },
  );
  app.get(
    '/api/v1/config/versions',
    {
      config: { ...access, errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'Versions that were applied, newest first; the last 2,000 are kept',
        querystring: AppliesQuery,
        response: { 200: VersionsReply },
      },
    },
    async (request) => {
      checkWholeSite(request.person());
      return { success: true as const, ...(await applies.versions(request.query)) };
    },
  );
  app.get(
    '/api/v1/config/versions/:version',
    {
      config: { ...access, errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'One version and what it changed',
        params: VersionNumber,
        response: { 200: VersionReply },
      },
    },
    async (request) => {
      checkWholeSite(request.person());
      return await applies.version(Number(request.params.version));
    },
  );
  app.get(
    '/api/v1/config/versions/:version/:kind/:key',
    {
      config: { ...access, errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'An object as it was in a version, without its secrets',
        params: VersionObject,
        response: { 200: VersionObjectReply },
      },
    },
    async (request) => {
      checkWholeSite(request.person());
      const { version, kind, key } = request.params;
      return await applies.object(Number(version), kind, key);
    },
  );
  app.get(
    '/api/v1/config/drift',
    {
      config: { ...access, errors: ['engine_unavailable', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'Files of the engine that were changed by hand, and how',
        response: { 200: DriftReply },
      },
    },
    async (request) => {
      checkWholeSite(request.person());
      return await applies.drift();
    },
  );
}
