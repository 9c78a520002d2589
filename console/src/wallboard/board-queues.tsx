/** Queues of a board: all, or a list in order with the figures of each. */
import type { ReactNode } from 'react';
import { Fieldset, MultiSelect, Select, Stack, Switch, Text } from '@mantine/core';
import { Plus } from 'lucide-react';
import type { Board, BoardMetric } from '@offhook/contract/boards.ts';
import { useTopic } from '../app/live.ts';
import { wordsOf } from '../app/words.ts';
import { metricChoices } from './metrics.ts';
import { Rows } from './rows.tsx';

const e = wordsOf('board-editor');
const t = wordsOf('wallboard');

/** Limit of the service. */
const MOST_QUEUES = 500;
/** Longer lists do without a field for figures in each row. */
const MOST_WITH_FIGURES = 40;
type Tiles = Board['layout']['tiles'];
interface BoardQueuesProps {
  /** Null: all. */
  readonly queues: readonly string[] | null;
  readonly tiles: Tiles;
  readonly onChange: (queues: string[] | null, tiles: Tiles) => void;
}
export function BoardQueues({ queues, tiles, onChange }: BoardQueuesProps): ReactNode {
  const { records } = useTopic('queues');
  const titleOf = (name: string): string => records.get(name)?.title || name;
  const listed = queues ?? [];
  const ordered = [
    ...tiles.map(({ queue }) => queue).filter((name) => listed.includes(name)),
    ...listed.filter((name) => !tiles.some(({ queue }) => queue === name)),
  ];
  const free = [...records.keys()].filter((name) => !ordered.includes(name));
  /** Every listed queue has a tile; one without figures of its own keeps only the position. */
  const tilesOf = (names: readonly string[]): Tiles =>
    names.map((queue) => tiles.find((tile) => tile.queue === queue) ?? { queue, figures: null });
  const order = (names: string[]): void => onChange(names, tilesOf(names));
  const setFigures = (queue: string, figures: string[]): void =>
    onChange(
      [...listed],
      tilesOf(listed).map((tile) =>
        tile.queue === queue
          ? { queue, figures: figures.length === 0 ? null : (figures as BoardMetric[]) }
          : tile,
      ),
    );
  return (
    <Fieldset legend={t('queues_part')}>
      <Stack gap="sm">
        <Switch
          label={e('all_queues')}
          checked={queues === null}
          onChange={(event) => {
            if (event.currentTarget.checked) onChange(null, tiles);
            else order([...records.keys()].slice(0, MOST_QUEUES));
          }}
        />
        {queues !== null && (
          <>
            <Text size="sm" fw={600}>
              {e('board_queues')}
            </Text>
            <Rows
              removable={ordered.length > 1}
              onOrder={order}
              rows={ordered.map((name) => ({
                id: name,
                name: titleOf(name),
                extra: ordered.length <= MOST_WITH_FIGURES && (
                  <MultiSelect
                    size="xs"
                    w={230}
                    aria-label={`${titleOf(name)}: ${e('own_figures')}`}
                    placeholder={e('as_board')}
                    data={metricChoices()}
                    value={[...(tiles.find(({ queue }) => queue === name)?.figures ?? [])]}
                    onChange={(figures) => setFigures(name, figures)}
                  />
                ),
              }))}
            />
            {free.length > 0 && ordered.length < MOST_QUEUES && (
              <Select
                aria-label={e('add_queue')}
                placeholder={e('add_queue')}
                leftSection={<Plus size={16} aria-hidden />}
                searchable
                limit={60}
                value={null}
                data={free.map((value) => ({ value, label: titleOf(value) }))}
                onChange={(name) => name !== null && order([...ordered, name])}
              />
            )}
          </>
        )}
      </Stack>
    </Fieldset>
  );
}
