import { useEffect } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { readAgain } from './queries.ts';
import { useClient } from './session.tsx';

/**
 * Reloads the queries below `name` on each event whose type begins with `changed`, and after every gap or reconnect.
 */
export function useChanges(topics: readonly string[], changed: string, name: string): void {
  const client = useClient();
  const queries = useQueryClient();
  const heard = topics.join(',');
  useEffect(() => {
    const reload = (): void => readAgain(queries, [name]);
    const stream = client.stream({
      topics: heard.split(','),
      onState: (state) => {
        if (state === 'live') reload();
      },
    });
    void (async () => {
      for await (const { type } of stream) if (type.startsWith(changed) || type === 'gap') reload();
    })().catch(() => undefined);
    return () => stream.close();
  }, [client, queries, heard, changed, name]);
}
