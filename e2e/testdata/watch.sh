# Prints the events of a watch: sh watch.sh COUNT CHANGE WATCH. CHANGE and WATCH are commands.
#
# Waits until the log shows an open watch before it runs CHANGE, so that no event is missed.
count=$1 change=$2 watch=$3
rm -f log.fifo lines.fifo
mkfifo log.fifo lines.fifo
$watch -v=6 2>log.fifo >lines.fifo &
watcher=$!
exec 4<log.fifo 3<lines.fifo
while read -r line <&4; do
  case $line in *watch=true*) break ;; esac
done
cat <&4 >/dev/null &
$change >/dev/null
while [ "$count" -gt 0 ] && read -r line <&3; do
  printf '%s\n' "$line"
  count=$((count - 1))
done
# The watch may have ended already.
kill $watcher 2>/dev/null || true
