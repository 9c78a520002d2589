import { useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Button, Paper, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Building2, Phone, Plus, Search, Upload, User } from 'lucide-react';
import { Link } from 'wouter';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { PageHead, Paged } from '../app/page-parts.tsx';
import { CUSTOMERS, contactsQuery } from '../app/queries.ts';
import { useClient } from '../app/session.tsx';
import { wordsOf } from '../app/words.ts';
import { useDialling } from '../directory/dial.ts';
import type { Dialling } from '../directory/dial.ts';
import { customerPath, dialledOf, readPage, useCustomerEvents } from './data.ts';
import { CustomerForm } from './form.tsx';
import { ExportMenu, ImportDialog } from './files.tsx';
import { Marks } from './marks.tsx';
import { CallerRules } from './rules.tsx';
import styles from './customers.module.css';

const t = wordsOf('customers');

interface RowProps {
  readonly customer: Customer;
  /** Name of the owner, where there is one. */
  readonly owner: string | null;
  readonly dialling: Dialling;
}
function Row({ customer, owner, dialling }: RowProps): ReactNode {
  const { id, kind, name, company, numbers } = customer;
  const [first] = numbers;
  const Kind = kind === 'company' ? Building2 : User;
  return (
    <li className={styles.row} data-customer={id}>
      <Kind
        size={20}
        className={styles.kind}
        role="img"
        aria-label={t(kind === 'company' ? 'kind_company' : 'kind_person')}
      />
      <div className={styles.who}>
        <Link href={customerPath(id)} className={styles.name ?? ''}>
          <bdi>{name}</bdi>
        </Link>
        {company !== null && (
          <Text size="sm" c="dimmed" truncate title={company}>
            {company}
          </Text>
        )}
      </div>
      <div className={styles.marks}>
        <Marks {...customer} />
      </div>
      <div className={styles.numbers}>
        <Text size="sm" ff="monospace" truncate>
          {first?.number ?? ''}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {[first?.label, numbers.length > 1 && t('more_numbers', { count: numbers.length - 1 })]
            .filter(Boolean)
            .join(' · ')}
        </Text>
      </div>
      <Text size="sm" truncate className={styles.owner ?? ''} title={owner ?? ''}>
        {owner}
      </Text>
      <div className={styles.actions}>
        {first !== undefined && (
          <ActionIcon
            variant="light"
            size={40}
            aria-label={t('call', { name, number: first.number })}
            onClick={() => void dialling.call(dialledOf(first), name)}
          >
            <Phone size={18} aria-hidden />
          </ActionIcon>
        )}
      </div>
    </li>
  );
}

/** Customers of the site and those of the person, newest first. */
export function CustomersPage(): ReactNode {
  const client = useClient();
  const dialling = useDialling();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), 200);
  const [creates, setCreates] = useState(false);
  const [imports, setImports] = useState(false);
  const contacts = useQuery(contactsQuery(client));
  const names = new Map(contacts.data?.contacts.map(({ extension, name }) => [extension, name]));
  useCustomerEvents();
  const list = useInfiniteQuery({
    queryKey: [CUSTOMERS, 'list', q],
    queryFn: ({ pageParam, signal }) => readPage(client, q, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
  const customers = list.data?.pages.flatMap((page) => page.customers) ?? [];
  return (
    <>
      <PageHead title={t('title')} lead={t('lead')}>
        <ExportMenu />
        <Button
          variant="default"
          leftSection={<Upload size={16} aria-hidden />}
          onClick={() => setImports(true)}
        >
          {t('import')}
        </Button>
        <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setCreates(true)}>
          {t('new')}
        </Button>
      </PageHead>
      <Paper withBorder p="md" mb="md" className={styles.paper ?? ''}>
        <TextInput
          type="search"
          aria-label={t('search_label')}
          placeholder={t('search')}
          leftSection={<Search size={16} aria-hidden />}
          value={typed}
          maxLength={64}
          onChange={(event) => setTyped(event.currentTarget.value)}
          mb="sm"
          maw={420}
        />
        <Paged list={list} count={customers.length} empty={t(q === '' ? 'none' : 'no_match')}>
          <ul className={styles.list} aria-label={t('title')}>
            {customers.map((customer) => (
              <Row
                key={customer.id}
                customer={customer}
                owner={customer.owner === null ? null : (names.get(customer.owner) ?? customer.owner)}
                dialling={dialling}
              />
            ))}
          </ul>
        </Paged>
      </Paper>
      <CallerRules />
      {imports && <ImportDialog onClose={() => setImports(false)} />}
      {creates && <CustomerForm customer={null} onClose={() => setCreates(false)} />}
    </>
  );
}
