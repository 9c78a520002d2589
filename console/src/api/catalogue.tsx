import { useDeferredValue, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { Paper, Stack, TextInput, Title } from '@mantine/core';
import { Search } from 'lucide-react';
import { Empty } from '../app/states.tsx';
import { found } from './operations.ts';
import { Groups } from './parts.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

interface CatalogueProps<T> {
  readonly items: readonly T[];
  /** Group shown first. */
  readonly first: string;
  readonly label: string;
  /** Above the list; receives the number of matches, null without a search. */
  readonly head: (found: number | null) => ReactNode;
  readonly sectionOf: (item: T) => string;
  readonly row: (item: T) => ReactNode;
}
/** One group at a time, or the matches of a search in all groups. */
export function Catalogue<T extends { readonly group: string; readonly text: string }>({
  items,
  first,
  label,
  head,
  sectionOf,
  row,
}: CatalogueProps<T>): ReactNode {
  const [group, setGroup] = useState(first);
  const [query, setQuery] = useState('');
  const wanted = useDeferredValue(query);
  const searching = wanted.trim() !== '';
  const shown = useMemo(
    () => (searching ? found(items, wanted) : items.filter((each) => each.group === group)),
    [items, searching, wanted, group],
  );
  const groups = useMemo(() => {
    const counts = Map.groupBy(searching ? shown : items, (each) => each.group);
    return [...counts].map(([name, own]) => ({ name, count: own.length }));
  }, [items, shown, searching]);
  return (
    <>
      <TextInput
        type="search"
        aria-label={label}
        placeholder={label}
        leftSection={<Search size={16} aria-hidden />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      <div className={styles.panes}>
        <Groups
          groups={groups}
          value={searching ? null : group}
          onChange={(next) => {
            setQuery('');
            setGroup(next);
          }}
        />
        <Stack gap="md" miw={0}>
          {head(searching ? shown.length : null)}
          {shown.length === 0 && <Empty title={t('none_found')} />}
          {[...Map.groupBy(shown, sectionOf)].map(([name, own]) => (
            <section key={name} aria-label={name}>
              <Title order={2} size="h5" mb={6} lang="en">
                {name}
              </Title>
              <Paper withBorder className={styles.operations ?? ''}>
                {own.map(row)}
              </Paper>
            </section>
          ))}
        </Stack>
      </div>
    </>
  );
}
