;; DiffSoc-S, a political economy of a city: households of 3 classes in 5 neighbourhoods, housing,
;; schools, crime, three sectors of labour, credit; 96 states, 87 parameters, steps of one year. The
;; value is a score of prices, schools, incomes of the poor and product after `steps` years.
;; Inputs: steps; growth (0.02), policy_rate (0.05), investment (1), housing_supply (1), immigration (0.01).
(params
  ;; labour and income
  (p_emp_base free 0.5) (p_emp_skl free 0.3) (p_emp_dem free 0.002) (p_emp_cmt free 0.1) (p_emp_tran free 0.05)
  (p_emp_net free 0.01) (p_emp_disc free 0.3) (p_wge_adj free 0.02) (p_wge_inf free 0.3) (p_wge_prod free 0.002)
  (p_sec_grow free 0.01) (p_skl_prm free 0.1) (p_inc_xfer free 5.0) (p_inc_tax free 0.2) (p_inc_adj free 0.1)
  (p_pol_mw free 1.0)
  ;; credit, housing costs, wealth
  (p_crd_inc free 2.0) (p_crd_wth free 1.0) (p_crd_crm free 0.5) (p_crd_bias free 1.0) (p_crd_adj free 0.1)
  (p_crd_rsk free 0.05) (p_crd_def free 0.1) (p_own_wth free 0.005) (p_own_dwn free 0.2) (p_own_mort free 0.005)
  (p_pol_sub free 0.1) (p_cns_lo free 0.7) (p_cns_mi free 0.5) (p_cns_hi free 0.3) (p_cns_base free 3.0)
  (p_wth_ret free 0.01) (p_ptax free 0.005)
  ;; housing market
  (p_prf_sch free 0.3) (p_prf_amn free 0.2) (p_prf_crm free 0.4) (p_prf_prc free 0.5) (p_hsg_spec free 0.01)
  (p_hsg_sel free 0.3) (p_hsg_padj free 0.01) (p_hsg_mom free 0.02) (p_hsg_mrev free 0.05) (p_hsg_dep free 0.01)
  (p_hsg_radj free 0.05) (p_hsg_ryld free 0.05) (p_pol_zone free 1.0) (p_pol_rent free 0.0)
  ;; schools and skill
  (p_sch_tax free 0.002) (p_sch_base free 0.2) (p_pol_sch free 0.002) (p_sch_fund free 0.01) (p_sch_peer free 0.02)
  (p_sch_dec free 0.05) (p_sch_spill free 0.05) (p_skl_sch free 0.01) (p_skl_peer free 0.005) (p_skl_inc free 0.01)
  (p_skl_base free 0.01) (p_skl_dec free 0.1)
  ;; migration
  (p_att_sch free 0.3) (p_att_amn free 0.2) (p_att_crm free 0.4) (p_att_prc free 0.5) (p_att_job free 0.3)
  (p_mig_att free 0.0) (p_mig_lo free 0.02) (p_mig_mi free 0.01) (p_mig_hi free 0.005)
  ;; neighbourhoods
  (p_nbr_ainc free 0.1) (p_nbr_ainv free 0.05) (p_nbr_adec free 0.05) (p_nbr_acrm free 0.05) (p_nbr_spamn free 0.05)
  (p_nbr_cbase free 0.02) (p_nbr_cinc free 0.05) (p_nbr_cpol free 0.05) (p_nbr_cdec free 0.1) (p_nbr_spcrm free 0.05)
  (p_soc_seg free 0.05)
  ;; the city as a whole
  (p_mac_gdp free 0.005) (p_mac_lab free 0.1) (p_mac_inf free 0.3) (p_mac_ihsg free 0.1) (p_mac_idem free 0.05)
  (p_mac_ineq free 1.0) (p_mac_pop free 0.01) (p_pol_cred free 0.5))

(define (sum items) (apply + items))
(define (mean items) (/ (sum items) (length items)))

;; A column has one item for each neighbourhood; a table has one column for each class.
(define (repeat items) (map (lambda (item) (make-list 5 item)) items))

;; A term for one class only.
(define (only class term) (if class term 0))

;; The table of f over columns and tables, cell by cell.
(define (cells f . tables) (apply map (lambda columns (apply map f columns)) tables))

;; A column, repeated for each class.
(define (for-classes column) (make-list 3 column))

(define (total table) (sum (map sum table)))
(define (over-classes table) (apply map + table))
(define (step column changes) (map + column changes))

;; What differs between the classes: is it lo, is it hi, consumption, mobility.
(define lo (repeat '(#t #f #f)))
(define hi (repeat '(#f #f #t)))
(define consumption (repeat (list p_cns_lo p_cns_mi p_cns_hi)))
(define mobility (repeat (list p_mig_lo p_mig_mi p_mig_hi)))

;; What does not change in the city.
(define capacity '(500.0 600.0 550.0 700.0 650.0))
(define distance '(1.0 3.0 4.0 7.0 8.0))
(define transit '(5.0 3.0 3.0 1.5 1.0))
(define neighbours '((1 2) (0 2 3) (0 1 4) (1 4) (2 3)))
(define job-access (map (lambda (t d) (/ t (+ d 1))) transit distance))

;; How far the neighbours of each neighbourhood are above it, on average.
(define (spill column)
  (map (lambda (here around) (- (mean (map (lambda (j) (list-ref column j)) around)) here))
       column neighbours))

(define (score p s Y G)
  (+ (* 0.1 (mean p)) (* 0.5 (mean s)) (mean (first Y)) (* 0.001 G)))

;; P households, Y income, W wealth, K skill by class and neighbourhood; p price, r rent, s school,
;; a amenity, x crime by neighbourhood; D demand, w wage by sector, which is class;
;; C credit, i interest, G product, f inflation, q inequality.
(let year ((n steps)
           (P '((200.0 180.0 160.0 120.0 100.0) (100.0 120.0 130.0 150.0 140.0) (30.0 40.0 50.0 70.0 80.0)))
           (Y (repeat '(25.0 55.0 120.0)))
           (W (repeat '(10.0 80.0 350.0)))
           (K (repeat '(2.0 5.0 8.0)))
           (p '(350.0 280.0 260.0 200.0 180.0))
           (r '(18.0 14.0 13.0 10.0 9.0))
           (s '(6.0 5.5 5.0 4.0 3.5))
           (a '(7.0 6.0 5.5 4.0 3.5))
           (x '(3.0 2.5 2.0 1.5 1.0))
           (D '(500.0 300.0 150.0))
           (w '(30.0 55.0 115.0))
           (C 1000.0) (i 0.05) (G 5000.0) (f 0.02) (q 3.0))
  (if (= n 0)
      (score p s Y G)
      (let* ((people (over-classes P))
             (class-size (map sum P))
             (earned (cells * P Y))
             (local-income (map (lambda (total n) (/ total (+ n 0.1))) (over-classes earned) people))
             (class-income (map (lambda (column size) (/ (sum column) (+ size 0.1))) earned class-size))
             (poor-income (first class-income))
             (rich-income (third class-income))
             (p-mean (mean p))
             (prices (for-classes p))
             ;; labour
             (employed
               (cells (lambda (P K D lo people d t)
                        (sigmoid (- (+ p_emp_base (* p_emp_skl K) (* p_emp_dem D) (* p_emp_tran t)
                                       (* p_emp_net (/ P (+ people 0.1))))
                                    (* p_emp_cmt d)
                                    (only lo p_emp_disc))))
                      P K (repeat D) lo (for-classes people) (for-classes distance) (for-classes transit)))
             (workers (map sum (cells * P employed)))
             (dw (map (lambda (D E w) (* p_wge_adj (+ (* 0.1 (- D E)) (* p_wge_inf f) (* p_wge_prod w))))
                      D workers w))
             (dD (map (lambda (boost slowdown usual w) (* p_sec_grow (- (* boost growth) (* slowdown (- w usual)))))
                      '(1.0 1.5 2.0) '(0.01 0.01 0.005) '(30.0 55.0 115.0) w))
             (income
               (cells (lambda (e w K lo)
                        (+ (* e w (+ 1 (* p_skl_prm K)) (+ 1 (only lo (* 0.1 p_pol_mw))))
                           (only lo p_inc_xfer)))
                      employed (repeat w) K lo))
             ;; credit and housing costs
             (creditworthy
               (cells (lambda (I W lo p x)
                        (sigmoid (- (+ (* p_crd_inc (/ I (+ p 1))) (* p_crd_wth (/ W (+ p 1))))
                                    (* p_crd_crm x)
                                    (only lo p_crd_bias))))
                      income W lo prices (for-classes x)))
             (owners (cells (lambda (W p) (sigmoid (* p_own_wth (- W (* p_own_dwn p))))) W prices))
             (housing-cost
               (cells (lambda (o lo p r)
                        (+ (* o p_own_mort p) (* (- 1 o) r (- 1 (only lo p_pol_sub)))))
                      owners lo prices (for-classes r)))
             (dW (cells (lambda (I W o h consumption p)
                          (+ (* I (- 1 p_inc_tax consumption)) (- p_cns_base) (- h) (* p_wth_ret W)
                             (- (* p_ptax p o))))
                        income W owners housing-cost consumption prices))
             ;; housing market
             (wanted
               (cells (lambda (P c I W hi s a x p)
                        (* P c (sigmoid (+ (* p_prf_sch s) (* p_prf_amn a) (- (* p_prf_crm x))
                                           (- (* p_prf_prc (/ p (+ I 1))))
                                           (only hi (* 0.001 p_hsg_spec W))))))
                      P creditworthy income W hi (for-classes s) (for-classes a) (for-classes x) prices))
             (dp (map (lambda (p wanted capacity)
                        (let ((supply (+ (* capacity (+ 1 (/ (* p_hsg_sel p) p-mean))) (* p_pol_zone housing_supply))))
                          (* p_hsg_padj (+ (* p (- (/ wanted (+ supply 0.1)) 1))
                                           (* p_hsg_mom (- p p-mean))
                                           (* p_hsg_mrev (- p-mean p))
                                           (- (* p_hsg_dep p))))))
                      p (over-classes wanted) capacity))
             (dr (map (lambda (p r) (* p_hsg_radj (- (* p_hsg_ryld p) r (* p_pol_rent r)))) p r))
             ;; schools and skill
             (peers (map (lambda (total n) (/ total (+ n 0.1))) (over-classes (cells * P K)) people))
             (ds (map (lambda (s income peer spill)
                        (let ((fund (+ (* p_sch_tax income) p_sch_base (* p_pol_sch (- p-mean income)))))
                          (+ (* p_sch_fund fund) (* p_sch_peer peer) (- (* p_sch_dec s)) (* p_sch_spill spill))))
                      s local-income peers (spill s)))
             (dK (cells (lambda (K I s peer)
                          (- (+ (* p_skl_sch s) (* p_skl_peer peer) (* p_skl_inc (log (+ I 1))) p_skl_base)
                             (* p_skl_dec K)))
                        K income (for-classes s) (for-classes peers)))
             ;; migration
             (attraction
               (cells (lambda (s a x p job class-income)
                        (+ (* p_att_sch s) (* p_att_amn a) (- (* p_att_crm x))
                           (- (* p_att_prc (/ p (+ class-income 1))))
                           (* p_att_job job) p_mig_att))
                      (for-classes s) (for-classes a) (for-classes x) prices (for-classes job-access)
                      (repeat class-income)))
             (mean-attraction
               (map (lambda (column size) (/ (sum column) (+ size 0.01))) (cells * P attraction) class-size))
             (dP (cells (lambda (P A A-mean mobility)
                          (+ (* mobility P (- (/ A (+ A-mean 0.01)) 1)) (* p_mac_pop P immigration)))
                        P attraction (repeat mean-attraction) mobility))
             ;; neighbourhoods
             (da (map (lambda (a x income spill)
                        (+ (* 0.001 p_nbr_ainc income) (* p_nbr_ainv investment)
                           (- (* p_nbr_adec a)) (- (* p_nbr_acrm x)) (* p_nbr_spamn spill)))
                      a x local-income (spill a)))
             (dx (map (lambda (x income spill)
                        (let ((segregation (/ (- (* 2 income) poor-income rich-income) (+ income 1))))
                          (+ p_nbr_cbase (- (* 0.001 p_nbr_cinc income)) (- (* p_nbr_cpol investment))
                             (* p_soc_seg segregation) (- (* p_nbr_cdec x)) (* p_nbr_spcrm spill))))
                      x local-income (spill x)))
             ;; the city as a whole
             (all-income (total (cells * P income)))
             (G-next (+ (* G (+ 1 p_mac_gdp)) (* 0.01 p_mac_lab all-income) (* 0.01 growth G)))
             (out-of-work (sum (map (lambda (e P) (* (- 1 e) P)) (first employed) (first P)))))
        (year (- n 1)
              (cells + P dP)
              (cells (lambda (Y I) (+ (* (- 1 p_inc_adj) Y) (* p_inc_adj I))) Y income)
              (cells + W dW)
              (cells + K dK)
              (step p dp) (step r dr) (step s ds) (step a da) (step x dx)
              (step D dD) (step w dw)
              (+ C (* p_crd_adj (- G-next G)) (* 0.01 p_pol_cred C) (- (* p_crd_rsk i C)))
              (+ policy_rate (* p_crd_def (/ out-of-work (+ (first class-size) 0.1))))
              G-next
              (+ f (* p_mac_inf (- 0.02 f)) (* p_mac_ihsg (/ (sum dp) (+ p-mean 1)))
                 (* p_mac_idem (- (/ all-income (+ G 1)) 1)))
              (/ (* p_mac_ineq (+ rich-income 1)) (+ poor-income 1))))))
