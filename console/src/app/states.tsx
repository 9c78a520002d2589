/** The states every page shares: loading, empty and failed. */
import { Component, useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Alert, Button, Center, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { CircleAlert } from 'lucide-react';
import { Link } from 'wouter';
import { OffhookError } from '@offhook/client';
import { linesOf } from './field-errors.ts';
import type { Labels } from './field-errors.ts';
import { codeText, errorDetail, errorText } from './error-words.ts';
import { LIVE_AGAIN } from './live.ts';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

export const Loading = (): ReactNode => (
  <Center mih={200} role="status" aria-label={t('loading')}>
    <Loader />
  </Center>
);
interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
  /** Beside older data: announced when a screen reader is idle, because one outage makes several. */
  readonly beside?: boolean;
  /** Only for a form: its labels take the places of the names of the API. */
  readonly labels?: Labels | undefined;
}
/** An error in the reader's language with the detail of the service, announced to a screen reader. */
export function Failure({ error, onRetry, beside = false, labels }: FailureProps): ReactNode {
  const detail = errorDetail(error);
  const lines = linesOf(error, labels ?? {}) ?? (detail === '' ? [] : [detail]);
  const alert = useRef<HTMLDivElement>(null);
  const inForm = labels !== undefined;
  // A form can be longer than its dialog, and the error is at its end.
  useEffect(() => {
    if (inForm) alert.current?.scrollIntoView({ block: 'nearest' });
  }, [inForm, error]);
  return (
    <Alert
      ref={alert}
      // With the buttons below it.
      style={{ scrollMarginBottom: '4.5rem' }}
      role={beside ? 'status' : 'alert'}
      color="red"
      variant="light"
      icon={<CircleAlert size={18} aria-hidden />}
      title={errorText(error)}
      // A title alone has no space below it.
      styles={
        lines.length === 0 && !onRetry ? { title: { marginBottom: 0 }, message: { display: 'none' } } : {}
      }
    >
      {lines.map((line) => (
        <Text key={line} size="sm">
          {line}
        </Text>
      ))}
      {onRetry && (
        <Button mt="xs" size="xs" variant="default" onClick={onRetry}>
          {t('try_again')}
        </Button>
      )}
    </Alert>
  );
}
/** A page above another one. */
interface Back {
  readonly href: string;
  readonly label: string;
}
/** Instead of a page whose address names no object. */
export const Missing = ({ href, label }: Back): ReactNode => (
  <Empty order={1} title={codeText('not_found')}>
    <Button component={Link} href={href} variant="light">
      {label}
    </Button>
  </Empty>
);
/** True for the refusal to read an object that does not exist, or whose id has no valid form. */
export const isMissing = (error: unknown): boolean =>
  error instanceof OffhookError && (error.status === 404 || error.status === 400);
interface ReadProps<T> {
  readonly of: {
    readonly data: T | undefined;
    readonly error: unknown;
    readonly isError: boolean;
    readonly refetch: () => Promise<unknown>;
  };
  /** Shows nothing during the first read, for a part of the page that is often absent. */
  readonly quiet?: boolean;
  /** Only for a page of one object: the way back if the object does not exist, or was deleted while the page shows it. */
  readonly back?: Back;
  readonly children: (data: T) => ReactNode;
}
/** Data that a query has read. If a later read fails, the error is above the data, so that a form keeps what is typed in it. */
export function Read<T>({ of, quiet = false, back, children }: ReadProps<T>): ReactNode {
  if (back !== undefined && isMissing(of.error)) return <Missing {...back} />;
  return (
    <>
      {of.isError && (
        <Failure error={of.error} onRetry={() => void of.refetch()} beside={of.data !== undefined} />
      )}
      {of.data === undefined ? of.isError || quiet || <Loading /> : children(of.data)}
    </>
  );
}
interface EmptyProps {
  readonly icon?: ReactNode;
  readonly title: string;
  /** 1 where nothing else is on the page. */
  readonly order?: 1 | 2;
  readonly children?: ReactNode;
}
export const Empty = ({ icon, title, order = 2, children }: EmptyProps): ReactNode => (
  <Center mih={220} p="lg">
    <Stack align="center" gap="xs" maw={420} ta="center">
      {icon}
      <Title order={order} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  </Center>
);

/** The network is away, or an update of the console removed the files of the open version. */
export class NotLoaded extends Error {}
interface BoundaryState {
  readonly error: unknown;
}
interface BoundaryProps {
  readonly children: ReactNode;
  /** Called before the failed part is tried again. */
  readonly onAgain?: () => void;
}
const BACK = ['online', LIVE_AGAIN];
/** Keeps the failure of a part from the rest of the page. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: null };
  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error };
  }
  readonly again = (): void => {
    this.props.onAgain?.();
    this.setState({ error: null });
  };
  readonly online = (): void => {
    if (this.state.error instanceof NotLoaded) this.again();
  };
  override componentDidMount(): void {
    for (const type of BACK) addEventListener(type, this.online);
  }
  override componentWillUnmount(): void {
    for (const type of BACK) removeEventListener(type, this.online);
    if (this.state.error !== null) this.props.onAgain?.();
  }
  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const missing = error instanceof NotLoaded;
    return (
      <Alert role="alert" color="red" variant="light" title={t(missing ? 'not_loaded' : 'failed')} m="md">
        <Text size="sm">{t(missing ? 'not_loaded_text' : 'failed_text')}</Text>
        <Group mt="xs" gap="xs">
          <Button size="xs" variant="default" onClick={this.again}>
            {t('try_again')}
          </Button>
          {missing && (
            <Button size="xs" variant="default" onClick={() => location.reload()}>
              {t('load_anew')}
            </Button>
          )}
        </Group>
      </Alert>
    );
  }
}
