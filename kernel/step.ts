// What a transition answers: the next state and the effects to perform, as data.

/** The next state and what is to be done about it, in order. */
export type Step<S, E> = readonly [state: S, effects: readonly E[]]

/** A step that changes nothing and does nothing. */
export const stay = <S, E>(state: S): Step<S, E> => [state, []]
