// A list of many rows of one height, of which only those in sight exist (@tanstack/virtual-core).
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useReducer, useRef } from "preact/hooks";

export function VirtualList({ count, rowHeight, height, row, show, label }: { count: number; rowHeight: number; height: number; row: (index: number) => ComponentChildren; show: number | null; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [, again] = useReducer((n: number) => n + 1, 0);
  const list = useRef<Virtualizer<HTMLDivElement, HTMLDivElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => again(0),
  };
  list.current ??= new Virtualizer(options);
  list.current.setOptions(options);
  useEffect(() => list.current!._didMount(), []);
  useEffect(() => {
    list.current!._willUpdate();
    again(0);
  }, [count, height]);
  useEffect(() => {
    if (show !== null && show >= 0 && show < count) list.current!.scrollToIndex(show, { align: "center" });
  }, [show, count]);
  return (
    <div class="listing" ref={box} style={{ height: `${height}px` }} tabIndex={0} role="region" aria-label={label}>
      <div style={{ height: `${list.current.getTotalSize()}px`, position: "relative" }}>
        {list.current.getVirtualItems().map((item) => (
          <div key={item.key} class="listrow" style={{ transform: `translateY(${item.start}px)`, height: `${rowHeight}px` }}>
            {row(item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
