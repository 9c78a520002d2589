import { useDeferredValue, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import {
  Button,
  NativeSelect,
  Paper,
  SegmentedControl,
  Switch,
  Text,
  TextInput,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { BookUser, Search, SearchX } from 'lucide-react';
import type { Contact } from '@offhook/contract/extensions.ts';
import type { PresenceState } from '@offhook/client';
import { formatNumber } from '../app/format.ts';
import { useLive } from '../app/live.ts';
import { contactsQuery } from '../app/queries.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Empty, Read } from '../app/states.tsx';
import { language, wordsOf } from '../app/words.ts';
import { GROUPS } from '../presence/state.ts';
import type { Group } from '../presence/state.ts';
import { useDialling } from './dial.ts';
import { departmentsOf, entriesOf, rowsOf } from './entries.ts';
import { useFavourites } from './favourites.ts';
import { PeopleList } from './list.tsx';
import type { ListHandle } from './list.tsx';
import styles from './directory.module.css';

const t = wordsOf('directory');

const NOTHING: ReadonlyMap<string, PresenceState> = new Map();
const never = (): (() => void) => () => undefined;
/** All presence if the list depends on it, else none: a change of presence would render the whole list. */
function usePresenceOf(needed: boolean): ReadonlyMap<string, PresenceState> {
  const topic = useLive().topic('presence');
  return useSyncExternalStore(needed ? topic.subscribe : never, () => (needed ? topic.records : NOTHING));
}

export function DirectoryPage(): ReactNode {
  const client = useClient();
  const contacts = useQuery(contactsQuery(client));
  return (
    <>
      <VisuallyHidden>
        <Title order={1}>{t('title')}</Title>
      </VisuallyHidden>
      <Read of={contacts}>
        {({ contacts: all }) =>
          all.length === 0 ? (
            <Empty title={t('empty')} icon={<BookUser size={36} aria-hidden />} />
          ) : (
            <People contacts={all} />
          )
        }
      </Read>
    </>
  );
}
interface DepartmentSelectProps {
  readonly departments: readonly string[];
  /** Some people have no department; that is a choice, too. */
  readonly someWithout: boolean;
  /** Null: all; empty: none. */
  readonly value: string | null;
  readonly onChange: (department: string | null) => void;
}
const DepartmentSelect = ({
  departments,
  someWithout,
  value,
  onChange,
}: DepartmentSelectProps): ReactNode => (
  <NativeSelect
    size="md"
    aria-label={t('department')}
    className={styles.departments ?? ''}
    value={value === null ? 'all' : `:${value}`}
    onChange={({ currentTarget }) =>
      onChange(currentTarget.value === 'all' ? null : currentTarget.value.slice(1))
    }
    data={[
      { value: 'all', label: t('all_departments') },
      ...departments.map((name) => ({ value: `:${name}`, label: name })),
      ...(someWithout ? [{ value: ':', label: t('no_department') }] : []),
    ]}
  />
);
interface GroupControlProps {
  /** Null: all. */
  readonly value: Group | null;
  readonly onChange: (group: Group | null) => void;
}
const GroupControl = ({ value, onChange }: GroupControlProps): ReactNode => (
  <SegmentedControl
    aria-label={t('status')}
    className={styles.groups ?? ''}
    value={value ?? 'all'}
    onChange={(next) => onChange(next === 'all' ? null : (next as Group))}
    data={[
      { value: 'all', label: t('all') },
      ...GROUPS.map((group) => ({ value: group as string, label: t(group) })),
    ]}
  />
);
function People({ contacts }: { readonly contacts: readonly Contact[] }): ReactNode {
  const lang = language();
  const me = useMe();
  const [q, setQ] = useState('');
  const [department, setDepartment] = useState<string | null>(null);
  const [group, setGroup] = useState<Group | null>(null);
  const [grouped, setGrouped] = useState(false);
  const [favourites, toggle] = useFavourites();
  const dialling = useDialling();
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<ListHandle>(null);
  const wantedQ = useDeferredValue(q);
  const presence = usePresenceOf(group !== null);
  useHotkeys([['/', () => search.current?.focus()]]);

  const entries = useMemo(() => entriesOf(contacts, lang), [contacts, lang]);
  const departments = useMemo(() => departmentsOf(contacts, lang), [contacts, lang]);
  const byExtension = useMemo(() => new Map(contacts.map((one) => [one.extension, one])), [contacts]);
  const { rows, people } = useMemo(
    () =>
      rowsOf(
        entries,
        {
          q: wantedQ,
          department,
          group,
          grouped,
          favourites,
          presenceOf: (extension) => presence.get(extension) ?? byExtension.get(extension)?.presence,
        },
        lang,
      ),
    [entries, wantedQ, department, group, grouped, favourites, presence, byExtension, lang],
  );
  const narrowed = q !== '' || department !== null || group !== null;
  const showAll = (): void => {
    setQ('');
    setDepartment(null);
    setGroup(null);
    search.current?.focus();
  };
  const onSearchKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      list.current?.focusFirst();
    } else if (event.key === 'Escape') setQ('');
  };
  return (
    <div className={styles.page}>
      <search className={styles.tools}>
        <TextInput
          ref={search}
          type="search"
          className={styles.search ?? ''}
          size="md"
          aria-label={t('search_label')}
          placeholder={t('search')}
          leftSection={<Search size={18} aria-hidden />}
          value={q}
          maxLength={64}
          onChange={(event) => setQ(event.currentTarget.value)}
          onKeyDown={onSearchKey}
        />
        {departments.length > 0 && (
          <DepartmentSelect
            departments={departments}
            someWithout={contacts.some((one) => one.department === null)}
            value={department}
            onChange={setDepartment}
          />
        )}
        <GroupControl value={group} onChange={setGroup} />
        <div className={styles.tail}>
          {departments.length > 0 && (
            <Switch
              label={t('grouped')}
              checked={grouped}
              onChange={(event) => setGrouped(event.currentTarget.checked)}
            />
          )}
          <Text size="sm" c="dimmed" role="status" className={styles.count ?? ''}>
            {t('found', { count: people, shown: formatNumber(people) })}
          </Text>
        </div>
      </search>
      <Paper withBorder className={styles.paper ?? ''}>
        {rows.length === 0 ? (
          <Empty title={t('nobody')} icon={<SearchX size={36} aria-hidden />}>
            <Text c="dimmed" size="sm">
              {t('nobody_text')}
            </Text>
            {narrowed && (
              <Button variant="light" onClick={showAll}>
                {t('show_all')}
              </Button>
            )}
          </Empty>
        ) : (
          <PeopleList
            ref={list}
            rows={rows}
            wanted={JSON.stringify([wantedQ, department, group, grouped])}
            people={people}
            department={byExtension.get(me.extension)?.department ?? null}
            favourites={favourites}
            onFavourite={toggle}
            dialling={dialling}
          />
        )}
      </Paper>
    </div>
  );
}
