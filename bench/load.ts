/** 50 connections that ask as fast as they are answered: `load.ts <url> <requests> <headers as JSON>`. */
import { createRequire } from 'node:module';

interface Result {
  readonly requests: { readonly total: number };
  readonly throughput: { readonly total: number };
  readonly duration: number;
  readonly errors: number;
  readonly latency: { readonly p50: number; readonly p99: number };
  readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>;
}
const autocannon = createRequire(import.meta.url)('autocannon') as (o: object) => Promise<Result>;
const [url = '', amount = '1', headers = '{}'] = process.argv.slice(2);
const result = await autocannon({
  url,
  connections: 50,
  amount: Number(amount),
  timeout: 60,
  headers: JSON.parse(headers) as object,
});
console.log(
  JSON.stringify({
    requests: result.requests.total,
    bytes: result.throughput.total,
    seconds: result.duration,
    errors: result.errors,
    p99_ms: result.latency.p99,
    statuses: Object.keys(result.statusCodeStats),
  }),
);
