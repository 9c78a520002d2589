/** The last result of `npm run doctor`, which the health check of the service shows. */
import path from 'node:path';
import { textOf } from '../core/files.ts';
import type { Finding } from '../ports/engine-site.ts';

export const doctorFile = (data: string): string => path.join(data, 'doctor.json');
interface Kept {
  readonly at: number;
  readonly ways: readonly { readonly way: string; readonly ok: boolean; readonly detail: string }[];
}
export async function lastDiagnosis(data: string): Promise<Finding> {
  const text = await textOf(doctorFile(data));
  if (text === null) return { ok: true, detail: 'not run yet: npm run doctor' };
  const { at, ways } = JSON.parse(text) as Kept;
  const failed = ways.filter(({ ok }) => !ok);
  const when = new Date(at).toISOString();
  return {
    ok: failed.length === 0,
    detail:
      failed.length === 0
        ? `all ways work (${ways.map(({ way }) => way).join(', ')}), ${when}`
        : `${failed.map(({ way, detail }) => `${way}: ${detail}`).join('; ')}, ${when}`,
  };
}
