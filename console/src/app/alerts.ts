/** Alerts on every page of the people who hear them: emergency calls, and calls that a call limit stopped. */
import { useEffect } from 'react';
import { useClient } from './session.tsx';

export function useAlerts(): void {
  const client = useClient();
  useEffect(() => {
    const stream = client.stream({ topics: ['alerts'] });
    void (async () => {
      for await (const item of stream) {
        if (item.type !== 'call.emergency' && item.type !== 'call.refused') continue;
        // A file that cannot be had must not end the stream: the next alert loads it again.
        await import('./alert-notice.ts').then(({ showAlert }) => showAlert(item)).catch(() => undefined);
      }
    })().catch(() => undefined);
    return () => stream.close();
  }, [client]);
}
