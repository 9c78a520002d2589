import { z } from 'zod';
import {
  ErasureProof,
  ErasureReply,
  ErasuresReply,
  NewErasure,
  NewPrivacyExport,
  PrivacyExportReply,
  PrivacyId,
  PrivacyQuery,
} from '../privacy.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const ERRORS = ['invalid_request', 'not_found', 'store_unavailable'] as const satisfies readonly ErrorCode[];

export const privacy = area('privacy', {
  export: {
    method: 'POST',
    path: '/api/v1/privacy/exports',
    action: 'privacy.export',
    audit: 'privacy.export',
    level: 'admin',
    slow: true,
    body: NewPrivacyExport,
    reply: PrivacyExportReply,
    status: 202,
    errors: ['invalid_request', 'overloaded', 'store_unavailable'],
    summary: 'Create a file of all personal data of a number or a person',
  },
  exported: {
    method: 'GET',
    path: '/api/v1/privacy/exports/:id',
    level: 'admin',
    params: PrivacyId,
    reply: PrivacyExportReply,
    errors: ERRORS,
    summary: 'Progress of a personal data export',
  },
  file: {
    method: 'GET',
    path: '/api/v1/privacy/exports/:id/file',
    audit: 'privacy.download',
    level: 'admin',
    params: PrivacyId,
    reply: z.any().describe('JSON: `about`, `made_at`, `items` with their `kind`, and `missing`.'),
    file: true,
    errors: [...ERRORS, 'file_not_ready', 'file_gone'],
    summary: 'Download a personal data export; recorded in the audit trail',
  },
  erase: {
    method: 'POST',
    path: '/api/v1/privacy/erasures',
    action: 'privacy.erase',
    audit: 'privacy.erasure',
    level: 'admin',
    confirm: true,
    slow: true,
    body: NewErasure,
    reply: ErasureReply,
    status: 202,
    errors: ['invalid_request', 'overloaded', 'store_unavailable'],
    summary: 'Erase a number or a person everywhere; sums and times stay. Cannot be undone',
  },
  erasures: {
    method: 'GET',
    path: '/api/v1/privacy/erasures',
    level: 'admin',
    query: PrivacyQuery,
    reply: ErasuresReply,
    errors: ['invalid_request', 'store_unavailable'],
    summary: 'The erasures, newest first',
  },
  erasure: {
    method: 'GET',
    path: '/api/v1/privacy/erasures/:id',
    level: 'admin',
    params: PrivacyId,
    reply: ErasureProof,
    errors: ERRORS,
    summary: 'An erasure, its proof, and whether the ledger is whole',
  },
});
