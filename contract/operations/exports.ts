import { z } from 'zod';
import { ExportId, ExportReply, ExportsQuery, ExportsReply, NewExport } from '../exports.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const ERRORS = ['invalid_request', 'not_found', 'store_unavailable'] as const satisfies readonly ErrorCode[];

export const exports = area('exports', {
  list: {
    method: 'GET',
    path: '/api/v1/exports',
    level: 'user',
    scope: 'history:read',
    query: ExportsQuery,
    reply: ExportsReply,
    errors: ['invalid_request', 'too_many_requests', 'store_unavailable'],
    summary: "The caller's own exports, newest first; all for administrators",
    description:
      'With `seen` it answers when the version of the list changes, at the latest after `wait` seconds, so that progress needs no polling.',
  },
  get: {
    method: 'GET',
    path: '/api/v1/exports/:id',
    level: 'user',
    scope: 'history:read',
    params: ExportId,
    reply: ExportReply,
    errors: ERRORS,
    summary: 'One export and its progress',
  },
  create: {
    method: 'POST',
    path: '/api/v1/exports',
    action: 'exports.create',
    audit: 'exports.create',
    level: 'user',
    scope: 'history:read',
    slow: true,
    body: NewExport,
    reply: ExportReply,
    status: 202,
    errors: ['invalid_request', 'forbidden', 'limit_reached', 'overloaded', 'store_unavailable'],
    summary: 'Create a file of conversations in the background, limited to those the caller may see',
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/exports/:id',
    action: 'exports.remove',
    audit: 'exports.remove',
    level: 'user',
    scope: 'history:read',
    slow: true,
    params: ExportId,
    reply: ExportReply,
    errors: ERRORS,
    summary: 'Cancel an export, or delete its file',
  },
  file: {
    method: 'GET',
    path: '/api/v1/exports/:id/file',
    audit: 'exports.download',
    level: 'user',
    scope: 'history:read',
    params: ExportId,
    reply: z.any().describe('CSV (RFC 4180, UTF-8) or XLSX.'),
    file: true,
    errors: [...ERRORS, 'forbidden', 'file_not_ready', 'file_gone'],
    summary: 'Download the file; recorded in the audit trail',
  },
});
