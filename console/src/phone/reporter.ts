/** Reports the quality of a call to the service after its end. */
import { OffhookError } from '@offhook/client';
import type { Client } from '@offhook/client';
import { deviceOf } from '../app/device.ts';
import type { QualityReport } from './quality.ts';

/** Pauses before retries: a call appears in the history shortly after it began. */
const AGAIN_MS = [1_000, 3_000, 8_000];
/** e.g. `Firefox 145, Linux`. */
function deviceName(): string {
  const { browser, system } = deviceOf(navigator.userAgent);
  return system === null ? browser : `${browser}, ${system}`;
}
export interface Reporter {
  /** Retries while the service does not know the call yet. A call without a known id is not reported. */
  send(call: string | null, report: QualityReport): void;
  /** From a page that is closing: one request that may outlive the page. */
  sendLast(call: string | null, report: QualityReport): void;
}
export function createReporter(client: Client): Reporter {
  const bodyOf = (report: QualityReport) => ({ ...report, device: deviceName() });
  async function tryToSend(call: string, report: QualityReport, attempt: number): Promise<void> {
    try {
      await client.calls.reportQuality(call, bodyOf(report));
    } catch (error) {
      const later = AGAIN_MS[attempt];
      const unknown =
        error instanceof OffhookError ? error.code === 'not_found' || error.status >= 500 : true;
      if (later === undefined || !unknown) return;
      setTimeout(() => void tryToSend(call, report, attempt + 1), later);
    }
  }
  return {
    send(call, report) {
      if (call !== null) void tryToSend(call, report, 0);
    },
    sendLast(call, report) {
      if (call === null) return;
      void fetch(`/api/v1/calls/${encodeURIComponent(call)}/quality`, {
        method: 'POST',
        keepalive: true,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(bodyOf(report)),
      }).catch(() => undefined);
    },
  };
}
