import { useQueryClient } from '@tanstack/react-query';
import { readAgain } from './queries.ts';
import { useStream } from './use-stream.ts';

/**
 * Reloads the queries below `name` on each event whose type begins with `changed`, and after every gap or reconnect.
 */
export function useChanges(topics: readonly string[], changed: string, name: string): void {
  const queries = useQueryClient();
  const reload = (): void => readAgain(queries, [name]);
  useStream(topics.join(','), {
    onItem({ type }) {
      if (type.startsWith(changed) || type === 'gap') reload();
    },
    onState(state) {
      if (state === 'live') reload();
    },
  });
}
